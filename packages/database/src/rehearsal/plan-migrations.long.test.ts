import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MigrateOptions, migrateUp } from '../migrations/migrate.ts'
import { createNames } from '../names.ts'
import { blockedBy, planMigrations } from './plan-migrations.ts'

const first: MigrationSources = {
  '0001-create-notes': (names) => ({
    up: async (db) => {
      await sql`CREATE TABLE ${names.id('notes')} (
        id int CONSTRAINT ${names.local('notes_pkey')} PRIMARY KEY, title text)`.execute(db)
      await sql`CREATE TABLE ${names.id('authors')} (
        id int CONSTRAINT ${names.local('authors_pkey')} PRIMARY KEY)`.execute(db)
    },
  }),
}
const then: MigrationSources = {
  '0002-index-titles': (names) => ({
    up: async (db) => {
      await sql`CREATE INDEX ${names.local('notes_title_idx')} ON ${names.id('notes')} (title)`.execute(db)
      await sql`UPDATE ${names.id('notes')} SET title = ''`.execute(db)
    },
  }),
  '0003-add-author': (names) => ({
    up: async (db) => {
      await sql`ALTER TABLE ${names.id('notes')} ADD COLUMN author_id int
        CONSTRAINT ${names.local('notes_author_fkey')} REFERENCES ${names.id('authors')} (id)`.execute(db)
      await sql`CREATE TABLE ${names.id('tags')} (note_id int)`.execute(db)
      await sql`DO $$ BEGIN ALTER TABLE ${names.id('authors')} ADD COLUMN name text; END $$`.execute(db)
      await sql`CREATE INDEX ${names.local('tags_note_idx')} ON ${names.id('tags')} (note_id)`.execute(db)
    },
  }),
}

let database: TemporaryDatabase
beforeEach(async () => {
  database = await createEmptyDatabase()
})
afterEach(() => database.drop())
const names = createNames('example', 'app')
const options = (sources: MigrationSources): MigrateOptions => ({ url: database.url, names, sources })

async function query(text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

const schemas = () => query("SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY nspname")

describe('planMigrations', () => {
  it('lists the statements for a new database, which block nobody, and leaves no schema behind', async () => {
    const before = await schemas()
    expect(await planMigrations(options(first))).toEqual([
      {
        name: '0001-create-notes',
        statements: [
          { sql: expect.stringMatching(/^CREATE TABLE "example"."app_notes" \(/), locks: [] },
          { sql: expect.stringMatching(/^CREATE TABLE "example"."app_authors" \(/), locks: [] },
        ],
      },
    ])
    expect(await schemas()).toEqual(before)
  })

  it('lists the locks of each statement on existing tables, including those that only PostgreSQL knows', async () => {
    await migrateUp(options(first))
    const before = await schemas()
    const planned = await planMigrations(options({ ...first, ...then }))
    expect(planned.map(({ name, statements }) => [name, statements.map(({ locks }) => locks)])).toEqual([
      [
        '0002-index-titles',
        [
          [{ relation: 'app_notes', mode: 'ShareLock', blocks: 'writes', size: '16 kB' }],
          [
            { relation: 'app_notes', mode: 'RowExclusiveLock', blocks: 'nothing', size: '16 kB' },
            { relation: 'app_notes_pkey', mode: 'RowExclusiveLock', blocks: 'nothing', size: '8192 bytes' },
          ],
        ],
      ],
      [
        '0003-add-author',
        [
          [
            { relation: 'app_authors', mode: 'AccessShareLock', blocks: 'nothing', size: '8192 bytes' },
            { relation: 'app_authors', mode: 'ShareRowExclusiveLock', blocks: 'writes', size: '8192 bytes' },
            { relation: 'app_notes', mode: 'AccessExclusiveLock', blocks: 'reads and writes', size: '16 kB' },
            { relation: 'app_notes', mode: 'AccessShareLock', blocks: 'nothing', size: '16 kB' },
            { relation: 'app_notes', mode: 'ShareRowExclusiveLock', blocks: 'writes', size: '16 kB' },
          ],
          [],
          [{ relation: 'app_authors', mode: 'AccessExclusiveLock', blocks: 'reads and writes', size: '8192 bytes' }],
          [],
        ],
      ],
    ])
    expect(await schemas()).toEqual(before)
    expect(await query('SELECT count(*)::int AS count FROM example.app_trestle_migrations')).toEqual([{ count: 1 }])
  })

  it('removes the schema that a killed plan left behind', async () => {
    await migrateUp(options(first))
    await query('CREATE SCHEMA app_example_rehearsal CREATE TABLE app_notes (id int)')
    expect(await planMigrations(options({ ...first, ...then }))).toHaveLength(2)
    expect(await query("SELECT FROM pg_namespace WHERE nspname = 'app_example_rehearsal'")).toEqual([])
  })

  it('lists no migration that has run', async () => {
    await migrateUp(options(first))
    expect(await planMigrations(options(first))).toEqual([])
  })
})

describe('blockedBy', () => {
  it.each([
    ['AccessShareLock', 'nothing'],
    ['RowShareLock', 'nothing'],
    ['RowExclusiveLock', 'nothing'],
    ['ShareUpdateExclusiveLock', 'nothing'],
    ['ShareLock', 'writes'],
    ['ShareRowExclusiveLock', 'writes'],
    ['ExclusiveLock', 'writes'],
    ['AccessExclusiveLock', 'reads and writes'],
  ])('%s blocks %s', (mode, blocked) => {
    expect(blockedBy({ mode })).toBe(blocked)
  })
})
