import { createEmptyDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type Database, openDatabase } from './connect.ts'
import { createNames } from './names.ts'
import { prepare } from './prepare.ts'

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
    statementTimeoutMs: 600_000,
    lockTimeoutMs: 300_000,
    prepared,
    onConnectionError: () => {},
  })
  holder = new pg.Client({ connectionString: temporary.url })
  await holder.connect()
})
afterAll(async () => {
  await holder.end()
  await database.close()
  await temporary.drop()
})

const waitQuery = prepare('wait', (_: object) => sql`SELECT pg_advisory_xact_lock_shared(1)`)

it('checks the database while requests hold and await every other connection', async () => {
  await holder.query('SELECT pg_advisory_lock(1)')
  const { write, read } = database.lanes
  const requests = [write, write, read, read, read].map((lane) => lane.all(waitQuery, {}))
  const waiting = `SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
  await vi.waitFor(async () => expect((await holder.query(waiting)).rows).toEqual([{ count: 3 }]), { timeout: 10_000 })
  await database.ping()
  expect((await sql`SELECT 1 AS one`.execute(database.checks)).rows).toEqual([{ one: 1 }])
  expect((await holder.query(waiting)).rows).toEqual([{ count: 3 }])
  await holder.query('SELECT pg_advisory_unlock(1)')
  await Promise.all(requests)
})
