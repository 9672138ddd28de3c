import { createEmptyDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Database, openDatabase } from './connect.ts'
import { withDatabase } from './migrations/migration-connection.ts'
import { createNames } from './names.ts'
import { prepare, prepareOnCoordinator } from './prepare.ts'

const OPEN = `SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'test'`

let temporary: TemporaryDatabase
let database: Database<object>
let holder: pg.Client
beforeAll(async () => {
  temporary = await createEmptyDatabase()
  database = openDatabase<object>({
    url: temporary.url,
    names: createNames('example', 'app'),
    applicationName: 'test',
    poolSize: 1,
    laggingConnections: 1,
    statementTimeoutMs: 600_000,
    lockTimeoutMs: 300_000,
    prepared,
    onConnectionError: () => {},
  })
  // Connect without the pooler, because the lock belongs to the session.
  holder = new pg.Client({ connectionString: temporary.directUrl })
  await holder.connect()
  // Wait for the read pool's two connections, which open in the background (behind a pooler with a statement).
  if (prepared)
    await vi.waitFor(async () => expect((await holder.query(OPEN)).rows).toEqual([{ count: 2 }]), { timeout: 60_000 })
})
beforeEach(() => holder.query('SELECT pg_advisory_lock(1)'))
afterEach(() => holder.query('SELECT pg_advisory_unlock_all()'))
afterAll(async () => {
  await holder.end()
  await database.close()
  await temporary.drop()
})

/** Starts a read that lasts until it is cancelled. */
const readForever = (signal: AbortSignal) =>
  database.readLagging((db) => sql`SELECT pg_advisory_xact_lock_shared(1)`.execute(db), signal)

async function expectWaiting(): Promise<void> {
  const isWaiting = `SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
  await vi.waitFor(async () => expect((await holder.query(isWaiting)).rows).toEqual([{ count: 1 }]), {
    timeout: 60_000,
  })
}

const readOne = (signal?: AbortSignal) =>
  database.readLagging(async (db) => (await sql`SELECT 1 AS one`.execute(db)).rows, signal)

describe('readLagging', () => {
  it('cancels its statement when the signal is aborted, and keeps the connection', async () => {
    const leaving = new AbortController()
    const read = readForever(leaving.signal)
    await expectWaiting()
    leaving.abort()
    await expect(read).rejects.toHaveProperty('code', '57014')
    expect(await readOne(leaving.signal).catch((error: Error) => error.name)).toBe('NoConnectionError')
    expect(await readOne()).toEqual([{ one: 1 }])
    expect(database.laggingConnections()).toEqual({ idle: 1, used: 0, waiting: 0 })
  })

  it('sends no statement when the client has left before a connection is free', async () => {
    const [first, second] = [new AbortController(), new AbortController()]
    const reads = [readForever(first.signal), readForever(second.signal)]
    await expectWaiting()
    second.abort()
    first.abort()
    const [running, waiting] = reads
    await Promise.all([
      expect(running).rejects.toHaveProperty('code', '57014'),
      expect(waiting).rejects.toHaveProperty('name', 'NoConnectionError'),
    ])
  })

  it('uses no connection of the write pool', async () => {
    const leaving = new AbortController()
    const read = readForever(leaving.signal)
    await expectWaiting()
    expect((await sql`SELECT 1 AS one`.execute(database.db)).rows).toEqual([{ one: 1 }])
    await database.ping()
    leaving.abort()
    await expect(read).rejects.toHaveProperty('code', '57014')
  })
})

const waitQuery = prepare('wait', (_: object) => sql`SELECT pg_advisory_xact_lock_shared(1)`)

it('checks the database while requests use every other connection and wait for more', async () => {
  const { write, read } = database.pools
  const requests = [write, write, read, read, read].map((pool) => pool.all(waitQuery, {}))
  const waiting = `SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
  await vi.waitFor(async () => expect((await holder.query(waiting)).rows).toEqual([{ count: 3 }]), { timeout: 60_000 })
  await database.ping()
  expect((await sql`SELECT 1 AS one`.execute(database.checks)).rows).toEqual([{ one: 1 }])
  expect((await holder.query(waiting)).rows).toEqual([{ count: 3 }])
  await holder.query('SELECT pg_advisory_unlock(1)')
  await Promise.all(requests)
})

it('looks for names without a schema in pg_catalog alone, on every connection', async () => {
  const own = [{ path: 'pg_catalog' }]
  const show = sql<{ path: string }>`SELECT current_setting('search_path') AS path`
  const readPath = prepare<object, { path: string }>('read_path', () => show)
  for (const db of [database.db, database.checks]) expect((await show.execute(db)).rows).toEqual(own)
  expect(await database.readLong(async (db) => (await show.execute(db)).rows)).toEqual(own)
  for (const pool of [database.pools.read, database.pools.write]) expect(await pool.all(readPath, {})).toEqual(own)
  expect((await withDatabase(temporary, (db) => show.execute(db))).rows).toEqual(own)
})

describe('a database that is entered by another server than the coordinator', () => {
  const whereQuery = prepareOnCoordinator<object, { readonly name: string }>(
    'where',
    () => sql`SELECT current_database() AS name`,
  )

  it('reads on the coordinator what only the coordinator has', async () => {
    const entry = await createEmptyDatabase()
    const entered = openDatabase<object>({
      url: entry.url,
      coordinatorUrl: temporary.url,
      names: createNames('example', 'app'),
      applicationName: 'entered',
      poolSize: 1,
      statementTimeoutMs: 5_000,
      lockTimeoutMs: 5_000,
      prepared,
      onConnectionError: () => {},
    })
    const rows = await entered.pools.read.all(whereQuery, {})
    await entered.close()
    await entry.drop()
    expect(rows).toEqual([{ name: new URL(temporary.url).pathname.slice(1) }])
  })
})
