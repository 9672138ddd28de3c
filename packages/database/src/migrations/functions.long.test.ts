import { createHash } from 'node:crypto'
import { withNames } from '@trestle/migrations/functions.ts'
import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createNames } from '../names.ts'
import { findDrift } from '../rehearsal/drift.ts'
import type { ServiceFunctions } from './functions.ts'
import {
  compareTexts,
  isMigrated,
  isUpToDate,
  type MigrateOptions,
  migrateAtStart,
  migrateDown,
  migrateUp,
  reinstallFunctions,
} from './migrate.ts'
import { withDatabase } from './migration-connection.ts'

const sources: MigrationSources = {
  '0001-create-notes': (names) => ({
    up: async (db) => {
      await sql`CREATE TABLE ${names.id('notes')} (n int)`.execute(db)
    },
    down: async (db) => {
      await sql`DROP TABLE ${names.id('notes')}`.execute(db)
    },
  }),
}
const countNotes = `CREATE OR REPLACE FUNCTION {{count_notes}}() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN {{double}}((SELECT count(*)::int FROM {{notes}}));
END $$;`
const double = (times: number) =>
  `CREATE OR REPLACE FUNCTION {{double}}(n int) RETURNS int LANGUAGE sql STABLE AS $$ SELECT n * ${times} $$;`
const texts = { count_notes: countNotes, double: double(2) }

const names = createNames('example', 'app')
const database = await createEmptyDatabase()
const client = new pg.Client({ connectionString: database.url })

beforeAll(async () => {
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})
afterEach(async () => {
  await client.query('DROP SCHEMA IF EXISTS example CASCADE; DROP SCHEMA IF EXISTS neighbour CASCADE')
})

interface Release extends Partial<ServiceFunctions> {
  readonly texts?: Readonly<Record<string, string>>
  readonly sources?: MigrationSources
}

const filesOf = (own: Readonly<Record<string, string>>) => async () =>
  Object.entries(own).map(([name, text]) => ({ name, text, hash: createHash('sha256').update(text).digest('hex') }))

function releaseOf({ texts: own = texts, sources: ownSources = sources, ...rest }: Release): MigrateOptions {
  const functions = { files: filesOf(own), release: '1.2.0', replacesOwnRelease: false, ...rest }
  return { url: database.url, names, sources: ownSources, functions }
}

async function installed(): Promise<readonly unknown[]> {
  const { rows } = await client.query('SELECT name, release FROM example.app_trestle_functions ORDER BY name')
  return rows
}

async function call(expression: string): Promise<unknown> {
  const { rows } = await client.query({ text: `SELECT ${expression}`, rowMode: 'array' })
  return rows[0]?.[0]
}

const functionNames = () =>
  call(`(SELECT json_agg(proname ORDER BY proname) FROM pg_proc WHERE pronamespace = 'example'::regnamespace)`)

describe('migrateUp', () => {
  it('installs functions that call each other after the migrations, and records their release', async () => {
    expect(await migrateUp(releaseOf({}))).toEqual({
      migrations: ['0001-create-notes'],
      functions: ['count_notes', 'double'],
    })
    await client.query('INSERT INTO example.app_notes VALUES (1), (2)')
    expect(await call('example.app_count_notes()')).toBe(4)
    expect(await installed()).toEqual([
      { name: 'count_notes', release: '1.2.0' },
      { name: 'double', release: '1.2.0' },
    ])
    expect(await isUpToDate(releaseOf({}))).toBe(true)
    expect(await isUpToDate(releaseOf({ texts: { ...texts, double: double(3) } }))).toBe(false)
  })

  it('replaces only functions whose text has changed', async () => {
    await migrateUp(releaseOf({}))
    const select = "SELECT proname AS name, xmin::text AS version FROM pg_proc WHERE proname ~ '^app_' ORDER BY proname"
    const versions = async () => (await client.query<{ name: string; version: string }>(select)).rows
    const before = await versions()
    expect(await migrateUp(releaseOf({ texts: { ...texts, double: double(3) } }))).toEqual({
      migrations: [],
      functions: ['double'],
    })
    expect(await call('example.app_double(5)')).toBe(15)
    const isReplaced = ({ name }: { readonly name: string }) => name === 'app_double'
    const changed = (version: string) => expect.not.stringMatching(version)
    expect(await versions()).toEqual(
      before.map((row) => (isReplaced(row) ? { ...row, version: changed(row.version) } : row)),
    )
  })

  it('refuses a function that is not valid, names it, and replaces none', async () => {
    await migrateUp(releaseOf({}))
    const broken = { ...texts, count_notes: countNotes.replace('  RETURN', '  RETUR'), double: double(3) }
    await expect(migrateUp(releaseOf({ texts: broken }))).rejects.toThrow(
      'app_count_notes: syntax error at or near "RETUR"',
    )
    const misnamed = { ...texts, triple: double(3) }
    await expect(migrateUp(releaseOf({ texts: misnamed }))).rejects.toThrow('triple.sql creates no function triple')
    const unknown = { ...texts, double: texts.double.replace('RETURNS int', 'RETURNS no_such_type') }
    await expect(migrateUp(releaseOf({ texts: unknown }))).rejects.toThrow('double: type "no_such_type" does not exist')
    const untrue = { ...texts, double: texts.double.replace('n * 2', 'no_such_column') }
    await expect(migrateUp(releaseOf({ texts: untrue }))).rejects.toThrow(
      'app_double: column "no_such_column" does not exist',
    )
    expect(await call('example.app_double(5)')).toBe(10)
  })

  it('refuses a name that a function of an application has with another signature, and drops none', async () => {
    await client.query(
      `CREATE SCHEMA example; CREATE FUNCTION example.app_double(a text) RETURNS text LANGUAGE sql RETURN a`,
    )
    await expect(migrateUp(releaseOf({}))).rejects.toThrow(
      'example.app_double(a text) has the name of a function of this service and another signature: rename it, or drop it',
    )
    expect((await client.query("SELECT example.app_double('kept') AS kept")).rows).toEqual([{ kept: 'kept' }])
  })

  it('drops a function whose file is gone, unless an object of another namespace depends on it', async () => {
    const tripled = { ...texts, triple: double(3).replace('double', 'triple') }
    await migrateUp(releaseOf({ texts: tripled }))
    await client.query('CREATE SCHEMA neighbour CREATE VIEW six AS SELECT example.app_triple(2) AS n')
    expect((await migrateUp(releaseOf({ release: '1.3.0' }))).functions).toEqual([])
    expect(await functionNames()).toEqual(['app_count_notes', 'app_double', 'app_triple'])
    await client.query('DROP SCHEMA neighbour CASCADE')
    await migrateUp(releaseOf({ texts: tripled, release: '1.4.0' }))
    await migrateUp(releaseOf({ release: '1.5.0' }))
    expect(await functionNames()).toEqual(['app_count_notes', 'app_double'])
  })

  it.each([
    ['another parameter', 'n int', 'n int, more int DEFAULT 0', 'example.app_double(5, 1)'],
    ['another name of a parameter', 'n int', 'm int', 'example.app_double(m => 5)'],
    ['another result', 'RETURNS int', 'RETURNS bigint', 'example.app_double(5)::int'],
  ])('accepts %s within a release, and refuses it after the release', async (_what, from, to, expression) => {
    const changed = texts.double.replace(from, to).replace('n * 2', '10')
    await migrateUp(releaseOf({}))
    await expect(migrateUp(releaseOf({ texts: { ...texts, double: changed }, release: '1.3.0' }))).rejects.toThrow(
      'double has another signature than in the release before: give the function a new name',
    )
    await migrateUp(releaseOf({ texts: { ...texts, double: changed } }))
    expect(await call(expression)).toBe(10)
    expect(await functionNames()).toEqual(['app_count_notes', 'app_double'])
  })
})

describe('a file for the function of a trigger', () => {
  const guard = (verdict: string) => `CREATE OR REPLACE FUNCTION {{guard}}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION '${verdict}'; END $$`
  const guarded: MigrationSources = {
    ...sources,
    '0002-guard-notes': (own) => ({
      up: async (db) => {
        await sql.raw(withNames(guard('made'), own)).execute(db)
        await sql`CREATE TRIGGER ${own.local('notes_guarded')} BEFORE DELETE ON ${own.id('notes')}
          EXECUTE FUNCTION ${own.id('guard')}()`.execute(db)
      },
      down: async (db) => {
        await sql`DROP TRIGGER ${own.local('notes_guarded')} ON ${own.id('notes')}`.execute(db)
        await sql`DROP FUNCTION ${own.id('guard')}()`.execute(db)
      },
    }),
    '0003-nothing': () => ({ up: async () => {}, down: async () => {} }),
  }
  const before = releaseOf({ sources: guarded })
  const later = releaseOf({ sources: guarded, release: '1.3.0', texts: { ...texts, guard: guard('replaced') } })
  const verdict = () =>
    client.query('DELETE FROM example.app_notes').then(
      () => 'none',
      (error) => error.message,
    )

  it('replaces the function, and restores the text of its migration after a roll-back', async () => {
    await migrateUp(before)
    expect(await verdict()).toBe('made')
    await migrateUp(later)
    expect(await verdict()).toBe('replaced')
    expect((await reinstallFunctions(before)).functions).toEqual(['count_notes', 'double'])
    expect(await verdict()).toBe('made')
    expect((await findDrift(before)).differences).toEqual([])
  })

  it('restores the text of its migration when a migration is taken back', async () => {
    await migrateUp(later)
    await migrateDown(later)
    expect(await verdict()).toBe('made')
  })
})

describe('migrateAtStart', () => {
  it.each([
    ['a later release', 'installs its own text', { release: '1.10.0' }, 15],
    ['the same release in development', 'installs its own text', { replacesOwnRelease: true }, 15],
    ['another build of the same release', 'keeps the installed text', {}, 10],
    ['an earlier release', 'keeps the installed text', { release: '1.1.9' }, 10],
    ['a build of an earlier release', 'keeps the installed text', { release: '1.1.9-rc.1' }, 10],
    [
      'an earlier release in development',
      'keeps the installed text',
      { release: '0.9.0', replacesOwnRelease: true },
      10,
    ],
  ])('at the start, %s %s', async (_which, _does, changes, expected) => {
    await migrateUp(releaseOf({}))
    const result = await migrateAtStart(releaseOf({ texts: { ...texts, double: double(3) }, ...changes }))
    expect(result).toEqual({
      migrations: [],
      ...(expected === 15 ? { functions: ['double'] } : { functions: [], keptRelease: '1.2.0' }),
    })
    expect(await call('example.app_double(5)')).toBe(expected)
  })

  it('changes nothing, not even rights, when a replica of release 1.2 restarts beside replicas of 1.3', async () => {
    const later = { ...texts, double: double(3), triple: double(3).replace('double', 'triple') }
    await migrateUp(releaseOf({}))
    await migrateUp({ ...releaseOf({ texts: later, release: '1.3.0', invoker: [] }) })
    const state = () =>
      call(`(SELECT json_agg(json_build_array(proname, xmin::text, proacl::text) ORDER BY proname) FROM pg_proc
             WHERE pronamespace = 'example'::regnamespace)`)
    const before = await state()
    expect(await migrateAtStart(releaseOf({}))).toEqual({ migrations: [], functions: [], keptRelease: '1.3.0' })
    expect(await state()).toEqual(before)
    expect(await isUpToDate(releaseOf({ texts: later, release: '1.3.0', invoker: [] }))).toBe(true)
    expect(await withDatabase(database, (db) => isMigrated(db, { names, sources, files: filesOf(texts) }))).toBe(true)
  })

  it('installs once when three processes start together', async () => {
    const runs = await Promise.all([1, 2, 3].map(() => migrateAtStart(releaseOf({}))))
    expect(runs.map(({ functions }) => functions.length).sort()).toEqual([0, 0, 2])
  })
})

describe('reinstallFunctions', () => {
  it('installs the functions of an earlier release after a roll-back', async () => {
    const later = { ...texts, double: double(3), triple: double(3).replace('double', 'triple') }
    await migrateUp(releaseOf({}))
    const addTags: MigrationSources = {
      ...sources,
      '0002-create-tags': (own) => ({
        up: async (db) => {
          await sql`CREATE TABLE ${own.id('tags')} (n int)`.execute(db)
        },
      }),
    }
    await migrateUp(releaseOf({ texts: later, release: '1.3.0', sources: addTags }))
    expect(await reinstallFunctions(releaseOf({}))).toEqual({
      migrations: [],
      functions: ['count_notes', 'double', 'triple'],
    })
    expect(await call('example.app_double(5)')).toBe(10)
    expect(await functionNames()).toEqual(['app_count_notes', 'app_double'])
    expect(await migrateAtStart(releaseOf({}))).toEqual({ migrations: [], functions: [] })
    // Return to the later release.
    await migrateAtStart(releaseOf({ texts: later, release: '1.3.0', sources: addTags }))
    expect(await call('example.app_double(5)')).toBe(15)
  })

  it('restores a function that was changed by hand', async () => {
    await migrateUp(releaseOf({}))
    await client.query(`CREATE OR REPLACE FUNCTION example.app_double(n int) RETURNS int LANGUAGE sql AS 'SELECT 0'`)
    const { differences } = await findDrift(releaseOf({}))
    expect(differences.map(({ object }) => object)).toEqual(['function app_double(n integer)'])
    await reinstallFunctions(releaseOf({}))
    expect((await findDrift(releaseOf({}))).differences).toEqual([])
  })

  it('is the remedy that an earlier release names when no functions are installed', async () => {
    const nothing = () => ({ up: async () => {}, down: async () => {} })
    const later = releaseOf({
      release: '1.3.0',
      sources: { ...sources, '0002-nothing': nothing, '0003-nothing': nothing },
    })
    await migrateUp(later)
    await migrateDown(later)
    await expect(migrateAtStart(releaseOf({}))).rejects.toThrow(
      'no functions are installed: run migrate up --functions',
    )
    await reinstallFunctions(releaseOf({}))
    expect(await migrateAtStart(releaseOf({}))).toEqual({ migrations: [], functions: [] })
  })

  it('refuses while migrations are pending', async () => {
    await expect(reinstallFunctions(releaseOf({}))).rejects.toThrow('migrations are pending, run them first: 0001')
  })
})

describe('migrateDown', () => {
  it('drops all functions first, so the service is not ready until they are installed again', async () => {
    const more: MigrationSources = {
      ...sources,
      '0002-create-tags': () => ({ up: async () => {}, down: async () => {} }),
    }
    const later = releaseOf({ release: '1.3.0', sources: more })
    await migrateUp(later)
    await client.query('CREATE SCHEMA neighbour CREATE VIEW four AS SELECT example.app_double(2) AS n')
    expect(await migrateDown(later)).toEqual({ migrations: ['0002-create-tags'], functions: [] })
    expect(await functionNames()).toEqual(['app_double'])
    const isReady = () => withDatabase(database, (db) => isMigrated(db, { names, sources, files: filesOf(texts) }))
    expect(await isReady()).toBe(false)
    await reinstallFunctions(releaseOf({}))
    expect(await isReady()).toBe(true)
    expect(await installed()).toEqual([
      { name: 'count_notes', release: '1.2.0' },
      { name: 'double', release: '1.2.0' },
    ])
  })

  it('drops nothing when the last migration belongs to a later release', async () => {
    const more: MigrationSources = {
      ...sources,
      '0002-create-tags': () => ({ up: async () => {}, down: async () => {} }),
    }
    await migrateUp(releaseOf({ release: '1.3.0', sources: more }))
    await expect(migrateDown(releaseOf({}))).rejects.toThrow(
      'the database has migrations of another release: 0002-create-tags',
    )
    expect(await functionNames()).toEqual(['app_count_notes', 'app_double'])
  })
})

describe('compareTexts', () => {
  it('lists what a release would create, replace and drop', async () => {
    const none = { installed: undefined, isLater: false, creates: ['count_notes', 'double'], replaces: [], drops: [] }
    expect(await compareTexts(releaseOf({}))).toEqual(none)
    await migrateUp(releaseOf({}))
    const other = { double: double(3), triple: double(3).replace('double', 'triple') }
    expect(await compareTexts(releaseOf({ texts: other, release: '1.1.0' }))).toEqual({
      installed: '1.2.0',
      isLater: true,
      creates: ['triple'],
      replaces: ['double'],
      drops: ['count_notes'],
    })
  })
})

describe('findDrift', () => {
  it('refuses functions of another release', async () => {
    await migrateUp(releaseOf({}))
    await expect(findDrift(releaseOf({ release: '1.3.0' }))).rejects.toThrow(
      'functions of release 1.2.0: use that release',
    )
  })

  it('reports no missing functions after they were dropped', async () => {
    const more: MigrationSources = {
      ...sources,
      '0002-create-tags': () => ({ up: async () => {}, down: async () => {} }),
    }
    await migrateUp(releaseOf({ sources: more }))
    await migrateDown(releaseOf({ sources: more }))
    expect((await findDrift(releaseOf({}))).differences).toEqual([])
  })
})
