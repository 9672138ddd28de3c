import { createEmptyDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Database, openDatabase } from './connect.ts'
import { createNames } from './names.ts'
import { prepare, routeByTenant } from './prepare.ts'

interface Key {
  readonly tenant: string
}

const find = routeByTenant(
  prepare('find_nothing', (p: Key) => sql<{ tenant: string }>`SELECT ${p.tenant}::text AS owner WHERE false`),
  ({ tenant }) => tenant,
)
const count = prepare('count_something', () => sql<{ count: number }>`SELECT 1 AS count`)
const awaitMove = prepare(
  'await_nothing',
  (p: Key) => sql`SELECT pg_advisory_xact_lock_shared(hashtext(${p.tenant}::text))`,
)

let empty: TemporaryDatabase
let database: Database<object>
let mover: pg.Client
beforeEach(async () => {
  empty = await createEmptyDatabase()
  database = openDatabase<object>({
    url: empty.url,
    names: createNames('example', 'app'),
    applicationName: 'test',
    poolSize: 2,
    statementTimeoutMs: 60_000,
    lockTimeoutMs: 60_000,
    prepared,
    readAgain: { waitForRebalance: awaitMove, isMissing: ([row]) => row === undefined },
    onConnectionError: () => {},
  })
  mover = new pg.Client({ connectionString: empty.directUrl })
  await mover.connect()
  await mover.query("SELECT pg_advisory_lock(hashtext('moving'))")
})
afterEach(async () => {
  await mover.end()
  await database.close()
  await empty.drop()
})

it('a read that finds nothing returns without waiting for a move of rows where the database is not distributed', async () => {
  expect(await database.pools.read.all(find, { tenant: 'moving' })).toEqual([])
  database.switchMode({ findTenant: async () => '', isRebalancing: false })
  expect(await database.pools.read.all(find, { tenant: '' })).toEqual([])
  expect(await database.pools.read.all(find, { tenant: 'other' })).toEqual([])
})

it('reads that wait for a long move of one tenant leave connections to writes, and to reads of other tenants', async () => {
  database.switchMode({ findTenant: async () => '', isRebalancing: false })
  const { read, write } = database.pools
  const waiting = Array.from({ length: 20 }, () => read.all(find, { tenant: 'moving' }))
  const isWaiting = async () => (await mover.query(WAITING)).rows
  await expect.poll(isWaiting, { timeout: 60_000 }).toEqual([{ count: 1 }])
  expect(await write.one(count, {})).toEqual({ count: 1 })
  expect(await read.all(find, { tenant: 'other' })).toEqual([])
  expect(await isWaiting()).toEqual([{ count: 1 }])
  await mover.query('SELECT pg_advisory_unlock_all()')
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => []))
})

const WAITING = `SELECT count(*)::int AS count FROM pg_locks
  WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
