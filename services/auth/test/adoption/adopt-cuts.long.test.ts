import { openWire } from '@trestle/testing/cut-wire.ts'
import { expect, it } from 'vitest'
import { adopt, type Restored, restore } from './adopted-app.ts'
import { readTables, runSql } from './restored-database.ts'

const HOURS_MS = 3 * 3_600_000
/** The number of statements at which a run is cut, or `all`. */
const CUTS = process.env.ADOPT_CUTS ?? '4'

/** Columns with random values or times of a run, by table. The keys of the tables stay. */
const CHANCE: Readonly<Record<string, readonly string[]>> = {
  one_time_tokens: ['id'],
  flow_state: ['provider_access_token', 'provider_refresh_token'],
  custom_oauth_providers: ['client_secret'],
  trestle_migrations: ['timestamp'],
}

/** All rows of the service, without the columns of `CHANCE`. */
async function readRows({ database: { url } }: Restored) {
  const tables = await runSql<{ name: string }>(
    url,
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'auth' ORDER BY 1`,
  )
  const selects = tables.map(({ name }) => {
    const left = (CHANCE[name] ?? []).map((column) => ` - '${column}'`).join('')
    return [name, `SELECT to_jsonb(t)${left} AS row FROM auth.${name} t ORDER BY 1`]
  })
  const rows = await readTables(url, Object.fromEntries(selects))
  const schemas = await runSql(url, `SELECT nspname AS name FROM pg_namespace WHERE nspname ~ '^auth' ORDER BY 1`)
  return { rows, schemas }
}

/** Adopts by a connection that is cut at a statement. */
async function adoptBy(restored: Restored, cutAt?: number) {
  const wire = await openWire(restored.database.url, cutAt)
  const { deps } = restored
  const config = { ...deps.config, database: { ...deps.config.database, migrationUrl: wire.url } }
  const [result] = await Promise.allSettled([adopt({ ...restored, deps: { ...deps, config } })])
  const statements = wire.statements()
  await wire.close()
  return { status: result.status, statements }
}

/** PostgreSQL notices a lost client only at the next read or write. Until then it holds the lock of the run. */
const countLocks = async ({ database: { url } }: Restored) => {
  const locks = "SELECT FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory'"
  return (await runSql(url, `${locks} AND datname = current_database()`)).length
}

it('ends like an uninterrupted run when it was killed at a statement', { timeout: HOURS_MS }, async () => {
  const whole = await restore('v2.196.0')
  const { status, statements } = await adoptBy(whole)
  expect(status).toBe('fulfilled')
  const expected = await readRows(whole)
  const length = CUTS === 'all' ? statements : Number(CUTS)
  for (let number = 1; number <= length; number += 1) {
    const cutAt = Math.ceil((number * (statements - 1)) / length)
    const restored = await restore('v2.196.0')
    await adoptBy(restored, cutAt)
    await expect.poll(() => countLocks(restored)).toBe(0)
    await adopt(restored)
    expect([cutAt, await readRows(restored)]).toEqual([cutAt, expected])
  }
})
