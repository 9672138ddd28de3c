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

const names = createNames('example', 'app')
const { url, drop } = await createEmptyDatabase()
const client = new pg.Client({ connectionString: url })
await client.connect()
afterAll(async () => {
  await client.end()
  await drop()
})

const options: MigrateOptions = {
  ...{ url, names, sources: baseline },
  functions: { files, release: '1.0.0', replacesOwnRelease: true },
}

/** What the old chain has left: its tables, and the same objects, written in another way. */
beforeEach(async () => {
  await client.query(`
    DROP SCHEMA IF EXISTS example CASCADE;
    CREATE SCHEMA example;
    CREATE TABLE example.app_schema_migrations (name varchar(255) PRIMARY KEY, timestamp varchar(255) NOT NULL);
    CREATE TABLE example.app_schema_migrations_lock (id varchar(255) PRIMARY KEY, is_locked integer DEFAULT 0 NOT NULL);
    INSERT INTO example.app_schema_migrations VALUES ('0001-create-notes', '2026-01-01'), ('0002-add-title', '2026-01-01');
    INSERT INTO example.app_schema_migrations_lock VALUES ('migration_lock');
    COMMENT ON TABLE example.app_schema_migrations IS 'complete x';
    CREATE TABLE example.app_notes (n int, title text);
    INSERT INTO example.app_notes VALUES (1, 'first');
    ALTER TABLE example.app_notes ADD CONSTRAINT app_notes_check CHECK (n > 0) NOT VALID;
    CREATE FUNCTION example.app_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
    CREATE FUNCTION example.app_count_notes() RETURNS int LANGUAGE sql AS $$ SELECT count(*)::int
      FROM "example"."app_notes" $$`)
})

describe('rebase', () => {
  it('marks a database of the old chain as one of the baseline, and keeps its rows', async () => {
    await expect(migrateAtStart(options)).rejects.toThrow('replaced by a baseline: run migrate rebase')
    await rebase(options)
    expect(await migrateUp(options)).toEqual({ migrations: [], functions: ['count_notes'] })
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

  it.each([
    ['another column', 'ALTER TABLE example.app_notes ADD COLUMN more int', 'column app_notes.more'],
    [
      'another function',
      `CREATE OR REPLACE FUNCTION example.app_count_notes() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
      'function app_count_notes()',
    ],
  ])('refuses a database with %s, and says what to do', async (_what, statement, object) => {
    await client.query(statement)
    await expect(rebase(options)).rejects.toThrow(
      `not as the baseline makes them: ${object}; put them right, or, if the data may go, drop schema example cascade and run migrate up`,
    )
    await expect(migrateUp(options)).rejects.toThrow('run migrate rebase')
  })

  it('does not touch the table of supabase/auth with the same name', async () => {
    await client.query(`
      DROP SCHEMA example CASCADE;
      CREATE SCHEMA example CREATE TABLE app_schema_migrations (version varchar(14) NOT NULL)`)
    await expect(rebase(options)).rejects.toThrow('nothing to rebase')
    expect((await migrateUp(options)).migrations).toEqual(['0001-create-notes'])
  })
})
