import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  compareTexts,
  isMigrated,
  isUpToDate,
  type MigrateOptions,
  migrateDown,
  migrateUp,
  reinstallFunctions,
} from '../migrations/migrate.ts'
import { withDatabase } from '../migrations/migration-connection.ts'
import { createNames } from '../names.ts'
import { findDrift } from '../rehearsal/drift.ts'

// SQL of other programs calls functions of the service. Those programs may already have their own functions with the same names.
const CALLER = 'trestle_test_caller'
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
  await client.query(`DROP SCHEMA IF EXISTS example CASCADE; DROP TABLE IF EXISTS public.mine`)
  await client.query(`DROP ROLE IF EXISTS ${CALLER}`)
})

const sources: MigrationSources = {
  '0001-create-notes': (own) => ({
    up: async (db) => {
      await sql`CREATE TABLE ${own.id('notes')} (n int)`.execute(db)
    },
    down: async (db) => {
      await sql`DROP TABLE ${own.id('notes')}`.execute(db)
    },
  }),
}

const file = (body: string) => ({
  name: 'answer',
  text: `CREATE OR REPLACE FUNCTION {{answer}}() RETURNS int LANGUAGE sql STABLE AS $$ ${body} $$;`,
  hash: body,
})
const optionsFor = (body = 'SELECT 42 -- known'): MigrateOptions => ({
  url: database.url,
  names,
  sources,
  functions: {
    files: async () => [file(body)],
    release: '1.2.0',
    replacesOwnRelease: false,
    foreign: { answer: 'known' },
  },
  callers: { roles: [CALLER, 'trestle_test_nobody'], functions: ['answer'] },
})
const options = optionsFor()

async function call(expression: string): Promise<unknown> {
  const { rows } = await client.query({ text: `SELECT ${expression}`, rowMode: 'array' })
  return rows[0]?.[0]
}

/** Runs a statement as the caller. @returns the first value, or the error code */
async function asCaller(statement: string): Promise<unknown> {
  await client.query(`BEGIN; SET LOCAL ROLE ${CALLER}`)
  const outcome = await client.query({ text: statement, rowMode: 'array' }).then(
    ({ rows }) => rows[0]?.[0],
    (error: pg.DatabaseError) => error.code,
  )
  await client.query('ROLLBACK')
  return outcome
}

const made = (body: string) =>
  client.query(`CREATE SCHEMA example; CREATE FUNCTION example.app_answer() RETURNS int LANGUAGE sql AS '${body}'`)
const differences = async (given = options) => (await findDrift(given)).differences
const isReady = () =>
  withDatabase(database, (db) => isMigrated(db, { names, sources, files: async () => [file('SELECT 42 -- known')] }))

describe('roles that call functions', () => {
  it('may call them and read nothing, and are no drift', async () => {
    await client.query(`CREATE ROLE ${CALLER}`)
    await migrateUp({
      ...options,
      functions: options.functions && { ...options.functions, invoker: [] },
    })
    expect(await asCaller('SELECT example.app_answer()')).toBe(42)
    expect(await asCaller('SELECT n FROM example.app_notes')).toBe('42501')
    expect(await differences()).toEqual([])
  })

  it('get their rights at the next start when they are made later', async () => {
    await migrateUp(options)
    expect(await isUpToDate(options)).toBe(true)
    await client.query(`CREATE ROLE ${CALLER}`)
    expect(await asCaller('SELECT example.app_answer()')).toBe('42501')
    expect(await isUpToDate(options)).toBe(false)
    expect(await migrateUp(options)).toEqual({ migrations: [], functions: [] })
    expect(await asCaller('SELECT example.app_answer()')).toBe(42)
    expect(await isUpToDate(options)).toBe(true)
  })
})

describe('a function that another program made', () => {
  it('is left as it is, neither replaced by a later text nor dropped, and is no drift', async () => {
    await made('SELECT 7 -- known')
    expect(await migrateUp(options)).toEqual({ migrations: ['0001-create-notes'], functions: [] })
    expect(await isReady()).toBe(true)
    expect(await compareTexts(options)).toEqual({
      installed: '1.2.0',
      isLater: false,
      creates: [],
      replaces: [],
      drops: [],
    })
    expect(await migrateUp(optionsFor('SELECT 43 -- known'))).toEqual({ migrations: [], functions: [] })
    expect(await reinstallFunctions(options)).toEqual({ migrations: [], functions: [] })
    expect(await differences()).toEqual([])
    await migrateDown(options)
    expect(await call('example.app_answer()')).toBe(7)
  })

  it('keeps its rights, and the schema its own, where these are the affair of the operator', async () => {
    await client.query(`CREATE ROLE ${CALLER}`)
    await made('SELECT 7 -- known')
    await client.query('REVOKE EXECUTE ON FUNCTION example.app_answer() FROM PUBLIC')
    const mayCall = () =>
      call(`ARRAY[has_schema_privilege('${CALLER}', 'example', 'USAGE'),
        has_function_privilege('${CALLER}', 'example.app_answer()', 'EXECUTE')]`)
    await migrateUp({ ...options, callers: options.callers && { ...options.callers, keepsRights: async () => true } })
    expect(await mayCall()).toEqual([false, false])
    await reinstallFunctions(options)
    expect(await mayCall()).toEqual([true, true])
  })

  it('is replaced when its body lacks the text of a usable one', async () => {
    await made('SELECT 7 -- old')
    expect(await migrateUp(options)).toEqual({ migrations: ['0001-create-notes'], functions: ['answer'] })
    expect(await call('example.app_answer()')).toBe(42)
  })

  it('is not confused with our own, which stays while a table needs it', async () => {
    await migrateUp(options)
    await client.query('CREATE TABLE public.mine (n int DEFAULT example.app_answer())')
    await migrateDown(options)
    expect(await call('example.app_answer()')).toBe(42)
    expect(await migrateUp(options)).toEqual({ migrations: ['0001-create-notes'], functions: ['answer'] })
    expect(await migrateUp(optionsFor('SELECT 43 -- known'))).toEqual({ migrations: [], functions: ['answer'] })
    expect(await call('example.app_answer()')).toBe(43)
  })
})
