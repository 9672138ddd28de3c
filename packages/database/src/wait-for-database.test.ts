import { openStartupPooler } from '@trestle/testing/cut-wire.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { keepsSettings } from './wait-for-database.ts'

const temporary = await createEmptyDatabase()
afterAll(() => temporary.drop())

describe('keepsSettings', () => {
  it('is true for a session of the server', async () => {
    expect(await keepsSettings(temporary.directUrl)).toBe(true)
  })

  it.each(['drop', 'refuse'] as const)('is false behind a pooler that would %s the settings', async (does) => {
    const pooler = await openStartupPooler(temporary.directUrl, does)
    onTestFinished(pooler.close)
    expect(await keepsSettings(pooler.url)).toBe(false)
  })

  it('throws when the database does not answer', async () => {
    await expect(keepsSettings('postgres://nobody@127.0.0.1:1/none')).rejects.toThrow('ECONNREFUSED')
  })
})
