import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { createNames } from '@trestle/database/names.ts'
import { openStartupPooler } from '@trestle/testing/cut-wire.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { type PrepareDatabaseOptions, prepareDatabase } from './prepare-database.ts'

const temporary = await createEmptyDatabase()
afterAll(() => temporary.drop())

const AWAY = 'postgres://nobody@127.0.0.1:1/none'

const migrations = (url: string) => ({ url, names: createNames('things'), sources: {} })

function prepare(changes: Partial<PrepareDatabaseOptions>) {
  return prepareDatabase({
    program: 'auth',
    url: temporary.directUrl,
    prepared: true,
    migrations: migrations(temporary.directUrl),
    connectTimeoutMs: 0,
    log: createLogger({ level: 'fatal', stdout: false }),
    process,
    ...changes,
  })
}

describe('prepareDatabase', () => {
  it('lets a service start on a database without a pooler', async () => {
    await expect(prepare({})).resolves.toBeUndefined()
  })

  it.each(['drop', 'refuse'] as const)('refuses to start behind a pooler that no setting names: %s', async (does) => {
    const pooler = await openStartupPooler(temporary.directUrl, does)
    onTestFinished(pooler.close)
    await expect(prepare({ url: pooler.url })).rejects.toThrow('set AUTH_DB_PREPARED=false')
    await expect(prepare({ url: pooler.url, prepared: false })).resolves.toBeUndefined()
  })

  it.each([
    ['of the service', { url: AWAY }],
    ['that it migrates', { migrations: migrations(AWAY) }],
  ])('refuses to start when the database %s does not answer', async (_which, changes) => {
    await expect(prepare(changes)).rejects.toThrow('ECONNREFUSED')
  })
})
