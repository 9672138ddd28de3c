import { openStartupPooler } from '@trestle/testing/startup-pooler.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { keepsSettings } from './session-check.ts'

const temporary = await createEmptyDatabase()
afterAll(() => temporary.drop())

describe('keepsSettings', () => {
  it('finds that a session of the server does', async () => {
    expect(await keepsSettings(temporary.directUrl)).toBe(true)
  })

  it.each(['drop', 'refuse'] as const)('finds that those of poolers do not, which %s settings', async (does) => {
    const pooler = await openStartupPooler(temporary.directUrl, does)
    onTestFinished(pooler.close)
    expect(await keepsSettings(pooler.url)).toBe(false)
  })

  it('takes nothing else for a pooler', async () => {
    await expect(keepsSettings('postgres://nobody@127.0.0.1:1/none')).rejects.toThrow('ECONNREFUSED')
  })
})
