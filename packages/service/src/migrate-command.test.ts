import type { ServiceFunctions } from '@trestle/database/migrations/functions.ts'
import type { MigrateOptions } from '@trestle/database/migrations/migrate.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { Command } from 'commander'
import { type Kysely, sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { migrateCommand } from './migrate-command.ts'

const { url, drop } = await createEmptyDatabase()
afterAll(drop)

const createThings: MigrationSources = {
  '0001-create-things': (names) => ({
    up: async (db: Kysely<unknown>) => {
      await sql`CREATE TABLE ${names.id('things')} (id integer)`.execute(db)
    },
    down: async (db: Kysely<unknown>) => {
      await sql`DROP TABLE ${names.id('things')}`.execute(db)
    },
  }),
}
const indexThings: MigrationSources = {
  '0002-index-things': (names) => ({
    up: async (db: Kysely<unknown>) => {
      await sql`INSERT INTO ${names.id('things')} VALUES (1)`.execute(db)
      await sql`CREATE INDEX ${names.local('things_id_idx')} ON ${names.id('things')} (id)`.execute(db)
    },
  }),
}

const double = (times: number) =>
  `CREATE OR REPLACE FUNCTION {{double}}(n int) RETURNS int LANGUAGE sql AS 'SELECT n * ${times}';`
const addOne = `CREATE OR REPLACE FUNCTION {{add_one}}(n int) RETURNS int LANGUAGE sql AS 'SELECT n + 1';`

/** Returns a release with these functions, by name. */
function release(version: string, texts: Readonly<Record<string, string>>): ServiceFunctions {
  const files = Object.entries(texts).map(([name, text]) => ({ name, text, hash: text }))
  return { files: async () => files, release: version, replacesOwnRelease: false }
}

type Setting = Pick<MigrateOptions, 'sources' | 'functions'>

/** Runs the command. @returns the printed lines, and the message of its error, if any */
async function runOf(setting: Setting, ...words: readonly string[]): Promise<string[]> {
  const lines: string[] = []
  const options = () => ({ url, names: createNames('things'), ...setting })
  const command = migrateCommand(options, (line) => lines.push(line)).configureOutput({ writeErr: () => {} })
  for (const each of command.commands) each.configureOutput({ writeErr: () => {} })
  const done = new Command().addCommand(command).parseAsync(['migrate', ...words], { from: 'user' })
  await done.catch((error) => {
    // Wrong usage has an error code. A failure has none.
    if ('code' in error) throw error
    lines.push(String(error.message))
  })
  return lines
}
const run = (...words: string[]) => runOf({ sources: createThings }, ...words)
const runBoth = (...words: string[]) => runOf({ sources: { ...createThings, ...indexThings } }, ...words)

beforeEach(() => withDatabase({ url }, (db) => sql`DROP SCHEMA IF EXISTS things CASCADE`.execute(db)))

describe('migrate', () => {
  it('lists pending migrations, applies them once, and takes them back', async () => {
    expect(await run('status')).toEqual(['pending 0001-create-things'])
    expect(await run('plan')).toEqual([
      '-- 0001-create-things',
      'CREATE TABLE "things"."things" (id integer);',
      '-- blocks nobody',
    ])
    expect(await run()).toEqual(['applied 0001-create-things'])
    expect(await run('up')).toEqual(['nothing to do'])
    expect(await run('status')).toEqual([expect.stringMatching(/^applied 20\S+Z 0001-create-things$/)])
    expect(await run('plan')).toEqual(['-- nothing to do'])
    expect(await run('down')).toEqual(['taken back 0001-create-things'])
  })

  it('names the functions that it installs, replaces, drops and keeps', async () => {
    const first = { sources: createThings, functions: release('1.0.0', { double: double(2), add_one: addOne }) }
    const second = {
      sources: createThings,
      functions: release('1.1.0', { double: double(3), triple: double(3).replace('double', 'triple') }),
    }
    expect(await runOf(first, 'status')).toEqual([
      'pending 0001-create-things',
      'no functions are installed',
      'missing function double',
      'missing function add_one',
    ])
    expect(await runOf(first)).toEqual(['applied 0001-create-things', 'installed 2 functions'])
    expect(await runOf(second, 'plan')).toEqual([
      '-- creates the function triple',
      '-- replaces the function double',
      '-- drops the function add_one',
    ])
    expect(await runOf(second)).toEqual(['installed 3 functions'])
    expect(await runOf(first, 'status')).toEqual([
      expect.stringMatching(/^applied \S+ 0001-create-things$/),
      'functions of release 1.1.0 are installed',
      'missing function add_one',
      'different function double',
      'function triple (of another release)',
    ])
    expect(await runOf(first, 'plan')).toEqual(['-- leaves the functions of release 1.1.0'])
    expect(await runOf(first)).toEqual([
      'nothing to do',
      'kept the functions of release 1.1.0: migrate up --functions installs those of this release',
    ])
    expect(await runOf(first, 'up', '--functions')).toEqual(['installed 3 functions'])
    expect(await runOf(first, 'drift')).toEqual([expect.stringMatching(/^\d+ objects match the migrations$/)])
  })

  it('plan: warns of locks that block others', async () => {
    await run()
    expect(await runBoth('plan')).toEqual([
      '-- 0002-index-things',
      '-- RowExclusiveLock on things',
      'INSERT INTO "things"."things" VALUES (1);',
      '-- ! ShareLock on things (0 bytes): writes wait until the migration has ended',
      'CREATE INDEX "things_id_idx" ON "things"."things" (id);',
      '-- 1 lock blocks others: see -- !',
    ])
  })

  it('status: names migrations and functions of another release', async () => {
    await runBoth()
    expect(await run('status')).toEqual([
      expect.stringMatching(/^applied \S+ 0001-create-things$/),
      expect.stringMatching(/^applied \S+ 0002-index-things \(of another release\)$/),
    ])
  })

  it('drift: fails when the database differs from the migrations, and names the difference', async () => {
    await runBoth()
    expect(await runBoth('drift')).toEqual([expect.stringMatching(/^\d+ objects match the migrations$/)])
    await withDatabase({ url }, async (db) => {
      await sql`DROP INDEX things.things_id_idx`.execute(db)
      await sql`ALTER TABLE things.things ALTER id TYPE bigint, ADD note text`.execute(db)
    })
    expect(await runBoth('drift')).toEqual([
      'different column things.id',
      '  made  integer',
      '  found bigint',
      'unexpected column things.note: text',
      'missing index things.things_id_idx: CREATE INDEX things_id_idx ON things.things USING btree (id)',
      expect.stringMatching(/^3 of \d+ objects do not match the migrations$/),
    ])
  })

  it.each([['sideways'], ['up', 'now'], ['status', '--all']])(
    'refuses `migrate %s` as wrong usage',
    async (...words) => {
      await expect(run(...words)).rejects.toHaveProperty('code', expect.stringMatching(/^commander\./))
    },
  )
})
