import { MovingRowsError, NoConnectionError } from '@trestle/database/unavailable.ts'
import { describe, expect, it } from 'vitest'
import { readUnlessAway } from './read-unless-away.ts'

describe('readUnlessAway', () => {
  it('returns what was read', async () => {
    expect(await readUnlessAway(() => Promise.resolve(3))).toBe(3)
  })

  it('returns nothing while the database is away', async () => {
    expect(await readUnlessAway(() => Promise.reject(new NoConnectionError('away')))).toBeUndefined()
  })

  it.each([
    ['a defect', new TypeError('no such column')],
    ['a move of rows', new MovingRowsError('rows are moving')],
  ])('keeps %s no secret', async (_what, error) => {
    await expect(readUnlessAway(() => Promise.reject(error))).rejects.toBe(error)
  })
})
