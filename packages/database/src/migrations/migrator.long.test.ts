import type { MigrationSource, MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createNames } from '../names.ts'
import { migrateAtStart, migrateDown, migrateUp, readMigrationStatus } from './migrate.ts'
import { againWhenLocked, withDatabase } from './migration-connection.ts'
import { runOneByOne, underMigrationLock } from './migrator.ts'

const database = await createEmptyDatabase()
afterAll(database.drop)
const names = createNames('example')

const createTable =
  (table: string): MigrationSource =>
  ({ id }) => ({
    up: async (db) => {
      await sql`CREATE TABLE ${id(table)} (n int)`.execute(db)
    },
    down: async (db) => {
      await sql`DROP TABLE ${id(table)}`.execute(db)
    },
  })
const widen: MigrationSource = ({ id }) => ({
  up: async (db) => {
    await sql`ALTER TABLE ${id('notes')} ADD COLUMN more int`.execute(db)
  },
})
const fail: MigrationSource = () => ({
  up: async (db) => {
    await sql`SELECT 1 / 0`.execute(db)
  },
})

const notes: MigrationSources = { '0002-notes': createTable('notes') }
const options = (sources: MigrationSources) => ({ url: database.url, names, sources })
const ranBy = async (sources: MigrationSources) => (await migrateUp(options(sources))).migrations

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  return client
}

let client: pg.Client
beforeEach(async () => {
  client = await connect()
})
afterEach(async () => {
  await client.query('DROP SCHEMA IF EXISTS example CASCADE')
  await client.end()
})

it('tells an operator who holds the lock that a migration waits for', async () => {
  const { rows } = await client.query(
    `SELECT pg_backend_pid() AS pid, current_user AS "user", pg_advisory_lock(hashtextextended('trestle/migration/example/', 0))`,
  )
  const lines: string[] = []
  const done = withDatabase(database, (db) =>
    underMigrationLock(
      db,
      { names },
      async () => 'ran',
      (line) => void lines.push(line),
    ),
  )
  await expect
    .poll(() => lines, { timeout: 60_000 })
    .toEqual([
      `waiting for the lock of a migration of the schema example: process ${rows[0].pid} of PostgreSQL, of the user ${rows[0].user}, holds it`,
    ])
  await client.query('SELECT pg_advisory_unlock_all()')
  expect(await done).toBe('ran')
})

describe('migrateUp', () => {
  it('migrates an empty database completely or not at all', async () => {
    await expect(ranBy({ ...notes, '0003-fail': fail })).rejects.toThrow('0003-fail failed: division by zero')
    const { rows } = await client.query("SELECT to_regclass('example.notes') AS notes")
    expect(rows).toEqual([{ notes: null }])
  })

  it('keeps the finished migrations of an upgrade that fails, and resumes there', async () => {
    await ranBy(notes)
    await expect(ranBy({ ...notes, '0003-tags': createTable('tags'), '0004-fail': fail })).rejects.toThrow('0004-fail')
    const mended = { ...notes, '0003-tags': createTable('tags'), '0004-fail': widen }
    expect(await ranBy(mended)).toEqual(['0004-fail'])
  })

  it('runs a migration with a lower number than one that has run, and takes back the one that ran last', async () => {
    await ranBy(notes)
    const both = { '0001-tags': createTable('tags'), ...notes }
    expect(await ranBy(both)).toEqual(['0001-tags'])
    expect(await migrateDown(options(both))).toEqual({ migrations: ['0001-tags'], functions: [] })
  })

  it('does not change a database of a later release, and refuses one that lacks a migration', async () => {
    await ranBy({ ...notes, '0003-tags': createTable('tags') })
    expect(await migrateAtStart(options(notes))).toEqual({ migrations: [], functions: [] })
    expect(await readMigrationStatus(options(notes))).toEqual([
      { name: '0002-notes', executedAt: expect.any(Date), isKnown: true },
      { name: '0003-tags', executedAt: expect.any(Date), isKnown: false },
    ])
    const other = { ...notes, '0003-words': createTable('words') }
    await expect(migrateAtStart(options(other))).rejects.toThrow('migrations of another release: 0003-tags')
  })

  it('gives way to requests behind its lock, and gets the lock in the end', async () => {
    await ranBy(notes)
    await client.query('BEGIN')
    await client.query('SELECT FROM example.notes')
    const migrating = ranBy({ ...notes, '0003-widen': widen })
    const waiting = async () => {
      const { rows } = await client.query(`
        SELECT mode FROM pg_locks WHERE NOT granted AND locktype = 'relation'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
      return rows
    }
    await expect.poll(waiting).toEqual([{ mode: 'AccessExclusiveLock' }])
    const behind = await connect()
    await behind.query('SELECT FROM example.notes')
    await behind.end()
    await client.query('COMMIT')
    expect(await migrating).toEqual(['0003-widen'])
  })

  it('tries again when what runs before the first migration gives way to requests', async () => {
    await client.query('CREATE TABLE public.busy (n int)')
    await client.query('BEGIN')
    await client.query('INSERT INTO public.busy VALUES (1)')
    let tries = 0
    const migrating = migrateUp({
      ...options(notes),
      beforeFirst: async (trx) => {
        tries += 1
        if (tries === 2) await client.query('COMMIT')
        await sql`SET LOCAL lock_timeout = '100ms'`.execute(trx)
        await sql`LOCK TABLE public.busy`.execute(trx)
        return async (later) => {
          await sql`DROP TABLE public.busy`.execute(later)
        }
      },
    })
    expect([(await migrating).migrations, tries]).toEqual([['0002-notes'], 2])
  })

  it('runs what comes before each migration of several again when it gives way to requests', async () => {
    const sources = { ...notes, '0003-widen': widen }
    const found: unknown[] = []
    const beforeEach = async (trx: Kysely<unknown>) => {
      found.push((await sql`SELECT to_regclass('example.notes')::text AS notes`.execute(trx)).rows[0])
      if (found.length === 2)
        await sql`DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '55P03'; END $$`.execute(trx)
    }
    const ran = await withDatabase(database, (db) =>
      runOneByOne(db, { names, sources, beforeEach }, Object.keys(sources)),
    )
    expect(ran).toEqual(['0002-notes', '0003-widen'])
    expect(found).toEqual([{ notes: null }, { notes: 'example.notes' }, { notes: 'example.notes' }])
  })

  it('says what to do when a lock was refused at each attempt', async () => {
    const attempts: number[] = []
    const refused = againWhenLocked(async (attempt) => {
      attempts.push(attempt)
      await client.query("DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '55P03'; END $$")
    }, 1)
    await expect(refused).rejects.toThrow(
      'other transactions held tables that are needed, at each of 20 attempts: end the long ones that pg_stat_activity and pg_prepared_xacts list, or wait for a quieter time, and run this again',
    )
    expect(attempts).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
  })

  it('tries again when another server of a cluster refused a lock, of which Citus tells the text alone', async () => {
    const attempts: number[] = []
    await againWhenLocked(async (attempt) => {
      attempts.push(attempt)
      if (attempt > 1) return
      await client.query("DO $$ BEGIN RAISE EXCEPTION 'ERROR:  canceling statement due to lock timeout'; END $$")
    }, 1)
    expect(attempts).toEqual([1, 2])
  })

  it('tries again after PostgreSQL has ended it because of a deadlock', async () => {
    const tags = { ...notes, '0003-tags': createTable('tags') }
    await ranBy(tags)
    const widenBoth: MigrationSource = ({ id }) => ({
      up: async (db) => {
        for (const table of ['notes', 'tags']) await sql`ALTER TABLE ${id(table)} ADD COLUMN more int`.execute(db)
      },
    })
    // The migration checks for a deadlock after a second and the client only later, so PostgreSQL cancels the migration.
    await client.query("SET deadlock_timeout = '30s'")
    await client.query('BEGIN')
    await client.query('SELECT FROM example.tags')
    const migrating = ranBy({ ...tags, '0004-widen': widenBoth })
    const locks = async () => {
      const { rows } = await client.query<{ table: string; granted: boolean }>(
        `SELECT relation::regclass::text AS "table", granted FROM pg_locks
         WHERE mode = 'AccessExclusiveLock' AND relation::regclass::text LIKE 'example.%' ORDER BY 1`,
      )
      return rows
    }
    await expect.poll(locks).toContainEqual({ table: 'example.tags', granted: false })
    await client.query('SELECT FROM example.notes')
    await client.query('COMMIT')
    expect(await migrating).toEqual(['0004-widen'])
  })
})
