import { NoConnectionError, RebalancingError } from '@trestle/database/unavailable.ts'
import { describe, expect, it } from 'vitest'
import { readIfAvailable } from './read-if-available.ts'

describe('readIfAvailable', () => {
  it('returns what was read', async () => {
    expect(await readIfAvailable(() => Promise.resolve(3))).toBe(3)
  })

  it('returns nothing while the database is unavailable', async () => {
    expect(await readIfAvailable(() => Promise.reject(new NoConnectionError('away')))).toBeUndefined()
  })

  it.each([
    ['a defect', new TypeError('no such column')],
    ['a move of rows', new RebalancingError('rows are moving')],
  ])('keeps %s no secret', async (_what, error) => {
    await expect(readIfAvailable(() => Promise.reject(error))).rejects.toBe(error)
  })
})
