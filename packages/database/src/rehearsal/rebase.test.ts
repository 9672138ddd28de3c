import { createHash } from 'node:crypto'
import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type MigrateOptions, migrateAtStart, migrateUp, migrationStatus } from '../migrations/migrate.ts'
import { createNames } from '../names.ts'
import { findDrift } from './drift.ts'
import { rebase } from './rebase.ts'

const baseline: MigrationSources = {
  '0001-create-notes': (names) => ({
    up: async (db) => {
      await sql`CREATE TABLE ${names.id('notes')} (
        n int, title text, CONSTRAINT ${names.local('notes_check')} CHECK (n > 0))`.execute(db)
      await sql`COMMENT ON COLUMN ${names.id('notes')}.title IS 'what the note is about'`.execute(db)
      await sql`CREATE TYPE ${names.id('pair')} AS (a int, b text)`.execute(db)
      await sql`CREATE TYPE ${names.id('noted_pair')} AS (pair ${names.id('pair')}, note ${names.id('notes')})`.execute(
        db,
      )
      await sql`CREATE FUNCTION ${names.id('refuse')}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          RETURN NULL;
        END $$`.execute(db)
    },
  }),
}
const text = `CREATE OR REPLACE FUNCTION {{count_notes}}() RETURNS int LANGUAGE sql AS $$
  -- All of them.
  SELECT count(*)::int FROM {{notes}}
$$;`
const files = async () => [{ name: 'count_notes', text, hash: createHash('sha256').update(text).digest('hex') }]
const signatures = async () => {
  const { rows } = await client.query(
    `SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = 'example'::regnamespace ORDER BY 1`,
  )
  return rows.map(({ name }) => name)
}

const names = createNames('example', 'app')
const { url, drop } = await createEmptyDatabase()
const client = new pg.Client({ connectionString: url })
await client.connect()
afterAll(async () => {
  await client.end()
  await drop()
})

const functions = { files, release: '1.0.0', replacesOwnRelease: true }
const options: MigrateOptions = { url, names, sources: baseline, functions }

/**
 * What the old chain has left: its tables, the same table and trigger function, written in another way, and other functions and
 * composite types.
 */
beforeEach(async () => {
  await client.query(`
    DROP SCHEMA IF EXISTS example CASCADE;
    DROP SCHEMA IF EXISTS neighbour CASCADE;
    CREATE SCHEMA example;
    CREATE SCHEMA neighbour;
    CREATE TABLE example.app_schema_migrations (name varchar(255) PRIMARY KEY, timestamp varchar(255) NOT NULL);
    CREATE TABLE example.app_schema_migrations_lock (id varchar(255) PRIMARY KEY, is_locked integer DEFAULT 0 NOT NULL);
    INSERT INTO example.app_schema_migrations VALUES ('0001-create-notes', '2026-01-01'), ('0002-add-title', '2026-01-01');
    INSERT INTO example.app_schema_migrations_lock VALUES ('migration_lock');
    COMMENT ON TABLE example.app_schema_migrations IS 'complete x';
    CREATE TABLE example.app_notes (n int, title text);
    INSERT INTO example.app_notes VALUES (1, 'first');
    ALTER TABLE example.app_notes ADD CONSTRAINT app_notes_check CHECK (n > 0) NOT VALID;
    CREATE FUNCTION example.app_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
    CREATE TYPE example.app_pair AS (a int);
    CREATE TYPE example.app_move_item AS (pair example.app_pair);
    CREATE FUNCTION example.app_count_notes(pair example.app_pair) RETURNS text LANGUAGE sql AS $$ SELECT 'none' $$;
    CREATE FUNCTION example.app_move_many(item example.app_move_item) RETURNS int LANGUAGE sql AS 'SELECT 1'`)
})

describe('rebase', () => {
  it('marks a database of the old chain as one of the baseline, and keeps its rows', async () => {
    await expect(migrateAtStart(options)).rejects.toThrow('replaced by a baseline: run migrate rebase')
    await rebase(options)
    expect(await migrateUp(options)).toEqual({ migrations: [], functions: [], keptRelease: undefined })
    expect(await migrationStatus(options)).toEqual([
      { name: '0001-create-notes', executedAt: expect.any(Date), isKnown: true },
    ])
    expect((await client.query('SELECT * FROM example.app_notes')).rows).toEqual([{ n: 1, title: 'first' }])
    expect((await client.query(`SELECT to_regclass('example.app_schema_migrations') AS old`)).rows).toEqual([
      { old: null },
    ])
    expect((await findDrift(options)).differences).toEqual([])
    await expect(rebase(options)).rejects.toThrow('no old chain of migrations: nothing to rebase')
  })

  it('replaces the functions and composite types of the old chain', async () => {
    await rebase(options)
    expect(await signatures()).toEqual(['example.app_count_notes()', 'example.app_refuse()'])
    expect((await client.query('SELECT example.app_count_notes() AS notes')).rows).toEqual([{ notes: 1 }])
    const { rows } = await client.query(`
      SELECT attrelid::regclass::text || '.' || attname || ' ' || atttypid::regtype AS attribute
      FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relkind = 'c' AND relnamespace = 'example'::regnamespace
      ORDER BY 1`)
    expect(rows.map(({ attribute }) => attribute)).toEqual([
      'example.app_noted_pair.note example.app_notes',
      'example.app_noted_pair.pair example.app_pair',
      'example.app_pair.a integer',
      'example.app_pair.b text',
    ])
  })

  it('keeps a composite type that is equal, with what the operator made of it', async () => {
    await client.query(`
      DROP FUNCTION example.app_count_notes, example.app_move_many;
      DROP TYPE example.app_move_item, example.app_pair;
      CREATE TYPE example.app_pair AS (a int, b text);
      CREATE FUNCTION neighbour.sum_pair(pair example.app_pair) RETURNS int LANGUAGE sql AS 'SELECT 1'`)
    await rebase(options)
    expect((await client.query(`SELECT neighbour.sum_pair((1, 'b')::example.app_pair) AS sum`)).rows).toEqual([
      { sum: 1 },
    ])
  })

  it.each(['trestle_migrations', 'schema_migrations'])(
    'leaves alone a namespace with a longer prefix, whose table of migrations is %s',
    async (table) => {
      await client.query(`
        DROP FUNCTION example.app_move_many;
        DROP TYPE example.app_move_item;
        CREATE TABLE example.app_move_${table} (name text, timestamp text);
        CREATE TABLE example.app_move_notes (n int);
        CREATE FUNCTION example.app_move_many() RETURNS int LANGUAGE sql AS 'SELECT 1'`)
      await rebase(options)
      expect(await signatures()).toContain('example.app_move_many()')
    },
  )

  it.each([
    ['another column', 'ALTER TABLE example.app_notes ADD COLUMN more int', 'column app_notes.more'],
    [
      'another function that a table calls',
      `CREATE OR REPLACE FUNCTION example.app_refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
      'function app_refuse()',
    ],
    [
      'a function of the operator',
      `CREATE FUNCTION example.app_report() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
      'function app_report()',
    ],
    ['a type of the operator', 'CREATE TYPE example.app_report AS (n int)', 'column app_report.n, type app_report'],
  ])('refuses a database with %s, says what to do, and changes nothing', async (_what, statement, objects) => {
    await client.query(statement)
    const before = await signatures()
    await expect(rebase(options)).rejects.toThrow(
      `not as the baseline makes them: ${objects}; put them right, or, if the data may go, drop schema example cascade and run migrate up`,
    )
    expect(await signatures()).toEqual(before)
    await expect(migrateUp(options)).rejects.toThrow('run migrate rebase')
  })

  it.each([
    [
      'a function that a view calls',
      'CREATE VIEW neighbour.notes AS SELECT example.app_count_notes(NULL) AS n',
      'function',
    ],
    ['a composite type that a table uses', 'CREATE TABLE neighbour.pairs (pair example.app_pair)', 'type'],
  ])('refuses to replace %s, and changes nothing', async (_what, statement, kind) => {
    await client.query(statement)
    const before = await signatures()
    await expect(rebase(options)).rejects.toThrow(`cannot drop ${kind} example.app_`)
    expect(await signatures()).toEqual(before)
    await expect(migrateUp(options)).rejects.toThrow('run migrate rebase')
  })

  it('changes nothing when a function of the release does not validate', async () => {
    const broken = {
      name: 'broken',
      text: text.replace('count_notes', 'broken').replace('{{notes}}', 'none'),
      hash: '',
    }
    const withBroken = { ...functions, files: async () => [...(await files()), broken] }
    const before = await signatures()
    await expect(rebase({ ...options, functions: withBroken })).rejects.toThrow(
      'broken: relation "none" does not exist',
    )
    expect(await signatures()).toEqual(before)
    await expect(migrateUp(options)).rejects.toThrow('run migrate rebase')
  })

  it('validates functions with the search path of the login', async () => {
    await client.query(`CREATE OR REPLACE FUNCTION public.half() RETURNS int LANGUAGE sql AS 'SELECT 1'`)
    const halve = { name: 'halve', text: text.replace('count_notes', 'halve').replace(/count.*/, 'half()'), hash: '' }
    const withHalve = { ...functions, files: async () => [...(await files()), halve] }
    await rebase({ ...options, functions: withHalve })
    expect(await signatures()).toContain('example.app_halve()')
  })

  it('leaves rights as they are', async () => {
    await client.query('GRANT SELECT ON example.app_notes TO PUBLIC')
    await rebase(options)
    expect((await findDrift(options)).differences).toEqual([
      { object: 'right app_notes to PUBLIC', made: undefined, found: 'SELECT' },
    ])
  })

  it('does not touch the table of supabase/auth with the same name', async () => {
    await client.query(`
      DROP SCHEMA example CASCADE;
      CREATE SCHEMA example CREATE TABLE app_schema_migrations (version varchar(14) NOT NULL)`)
    await expect(rebase(options)).rejects.toThrow('nothing to rebase')
    expect((await migrateUp(options)).migrations).toEqual(['0001-create-notes'])
  })
})
