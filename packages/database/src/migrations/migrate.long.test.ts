import type { MigrationSource, MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createNames } from '../names.ts'
import { type MigrateOptions, migrateAtStart, migrateDown, migrateUp, readMigrationStatus } from './migrate.ts'
import { listLockOwners, underLock, withDatabase } from './migration-connection.ts'

const createTable =
  (table: string): MigrationSource =>
  (names) => ({
    up: async (db) => {
      await sql`CREATE TABLE ${names.id(table)} (n int)`.execute(db)
    },
    down: async (db) => {
      await sql`DROP TABLE ${names.id(table)}`.execute(db)
    },
  })

const sources: MigrationSources = {
  '0001-create-notes': createTable('notes'),
  '0002-create-ledger': createTable('ledger'),
}

const broken: MigrationSource = () => ({
  up: async (db) => {
    await sql`CREATE TABLE public.half_done ()`.execute(db)
    await sql`SELECT no_such_column`.execute(db)
  },
})

let empty: TemporaryDatabase
let options: MigrateOptions
beforeEach(async () => {
  empty = await createEmptyDatabase()
  const names = createNames('example', 'app')
  options = { url: empty.url, names, sources, grants: { role: 'example_service', appendOnly: ['ledger'] } }
})
afterEach(() => empty.drop())

it('runs once when three processes start together, reports its status, and can be taken back', async () => {
  expect((await readMigrationStatus(options)).map(({ executedAt }) => executedAt)).toEqual([undefined, undefined])
  const runs = await Promise.all([migrateUp(options), migrateUp(options), migrateUp(options)])
  expect(runs.flatMap(({ migrations }) => migrations)).toEqual(['0001-create-notes', '0002-create-ledger'])
  expect(await migrateDown(options)).toEqual({ migrations: ['0002-create-ledger'], functions: [] })
  expect(await migrateUp(options)).toEqual({ migrations: ['0002-create-ledger'], functions: [] })
  expect((await readMigrationStatus(options)).every(({ executedAt }) => executedAt instanceof Date)).toBe(true)
})

it('tells why the table of migrations could not be made', async () => {
  await withDatabase(options, (db) =>
    sql`CREATE SCHEMA example; CREATE DOMAIN example.app_trestle_migrations AS int`.execute(db),
  )
  await expect(migrateUp(options)).rejects.toThrow(
    new Error('migrations failed: type "app_trestle_migrations" already exists'),
  )
})

const LIMITS = ['statement_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout']

it.each([
  ['with a session of its own', true, [...LIMITS, 'transaction_timeout']],
  ['behind a pooler', undefined, LIMITS],
] as const)('works %s under no time limit, whatever the database sets', async (_name, hasSession, limits) => {
  const read = async (db: Kysely<unknown>) => {
    const { rows } = await sql<{ name: string; setting: string }>`
      SELECT name, setting FROM pg_settings WHERE name = ANY (${limits}::text[])`.execute(db)
    return rows
  }
  await withDatabase({ url: empty.directUrl }, async (db) => {
    const name = new URL(empty.directUrl).pathname.slice(1)
    for (const limit of await read(db)) await sql.raw(`ALTER DATABASE ${name} SET ${limit.name} = '1h'`).execute(db)
  })
  const url = hasSession ? empty.directUrl : empty.url
  const found = await underLock({ url, names: options.names, ...(hasSession && { hasSession }) }, read)
  expect(found.filter(({ setting }) => setting !== '0')).toEqual([])
})

it('runs again at a start only if something has changed since a complete run', async () => {
  let runs = 0
  const start = (changed: Partial<MigrateOptions> = {}) =>
    migrateAtStart({
      ...options,
      settings: { role: 'example_service' },
      afterwards: [...(options.afterwards ?? []), async () => void runs++],
      ...changed,
    })
  await start()
  await start()
  expect(runs).toBe(1)
  await withDatabase(empty, (db) => sql`REVOKE USAGE ON SCHEMA example FROM example_service`.execute(db))
  await start()
  expect(runs).toBe(2)
  await start({ settings: { role: 'another' } })
  expect(runs).toBe(3)
  await migrateDown(options)
  expect(await start({ settings: { role: 'another' } })).toEqual({
    migrations: ['0002-create-ledger'],
    functions: [],
  })
  await expect(start({ sources: { ...sources, '0003-broken': broken } })).rejects.toThrow('0003-broken failed')
  runs = 0
  await start({ settings: { role: 'another' } })
  expect(runs).toBe(1)
})

it('holds its lock in a transaction, so that a pooler lends the connection to nobody else', async () => {
  const holders: string[] = []
  const look = async (db: Kysely<unknown>) => {
    const { rows } = await sql<{ state: string }>`
      SELECT state FROM pg_stat_activity JOIN pg_locks USING (pid)
      WHERE locktype = 'advisory' AND datname = current_database()`.execute(db)
    holders.push(...rows.map(({ state }) => state))
  }
  await migrateUp({ ...options, afterwards: [look] })
  expect(holders).toEqual(['idle in transaction'])
})

it('tells an operator who holds the lock that a run waits for', async () => {
  const lines: string[] = []
  const told = { ...options, report: (line: string) => void lines.push(line) }
  let waiting: Promise<unknown> = Promise.resolve()
  const [owner] = await underLock(options, async (db) => {
    waiting = migrateUp(told)
    await expect.poll(() => lines, { timeout: 60_000 }).toHaveLength(1)
    const { rows } = await sql<{ pid: number; user: string }>`
      SELECT a.pid, usename AS "user" FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
      WHERE l.locktype = 'advisory' AND l.granted AND datname = current_database()`.execute(db)
    return rows
  })
  await waiting
  expect(lines).toEqual([
    `waiting for the lock of migrations of the schema example: process ${owner?.pid} of PostgreSQL, of the user ${owner?.user}, holds it`,
  ])
})

it('names the prepared transaction, and its user, that has a lock', async () => {
  await withDatabase({ url: empty.directUrl, hasSession: true }, async (db) => {
    await db.connection().execute(async (connection) => {
      await sql`BEGIN`.execute(connection)
      await sql`SELECT pg_advisory_xact_lock(7)`.execute(connection)
      await sql`PREPARE TRANSACTION 'it''s prepared'`.execute(connection)
    })
    const owners = await listLockOwners(db, sql`7`)
    await sql`ROLLBACK PREPARED 'it''s prepared'`.execute(db)
    const { username } = new URL(empty.directUrl)
    expect(owners).toEqual([
      `the prepared transaction 'it''s prepared' of the user ${username} holds it until COMMIT PREPARED or ROLLBACK PREPARED`,
    ])
  })
})

it('names the migration that failed, and rolls it back', async () => {
  const failing: MigrationSources = { ...sources, '0003-broken': broken }
  await expect(migrateUp({ ...options, sources: failing })).rejects.toThrow(/0003-broken failed: .*no_such_column/)
  expect(await readMigrationStatus({ ...options, sources: failing })).toHaveLength(3)
  const { rows } = await withDatabase(empty, (db) => sql`SELECT to_regclass('public.half_done') AS half`.execute(db))
  expect(rows).toEqual([{ half: null }])
})
