import type { MigrationSources } from '@trestle/migrations/migration.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ServiceFunctions } from '../migrations/functions.ts'
import { type MigrateOptions, migrateUp } from '../migrations/migrate.ts'
import { createNames } from '../names.ts'
import { findDrift } from '../rehearsal/drift.ts'

const sources: MigrationSources = {
  '0001-create-accounts': (names) => ({
    up: async (db) => {
      await sql`CREATE TABLE ${names.id('accounts')} (name text, balance int, note text)`.execute(db)
      await sql`INSERT INTO ${names.id('accounts')} VALUES ('a', 1, '')`.execute(db)
    },
  }),
}

const definer = 'SECURITY DEFINER SET search_path = pg_catalog, pg_temp'
const deposit = (amount: number) => `
  CREATE OR REPLACE FUNCTION {{deposit}}() RETURNS text LANGUAGE plpgsql ${definer} AS $$
  BEGIN
    PERFORM {{move}}(${amount});
    RETURN lower('DONE');
  END $$;`
const texts = {
  deposit: deposit(5),
  move: `
    CREATE OR REPLACE FUNCTION {{move}}(p_amount int) RETURNS void LANGUAGE sql AS $$
      UPDATE {{accounts}} SET balance = balance + p_amount
    $$;`,
  tell_time: `
    CREATE OR REPLACE FUNCTION {{tell_time}}() RETURNS timestamptz LANGUAGE sql AS $$ SELECT clock_timestamp() $$;`,
  total: `
    CREATE OR REPLACE FUNCTION {{total}}() RETURNS bigint LANGUAGE sql STABLE AS $$
      SELECT sum(balance) FROM {{accounts}}
    $$;`,
}

const names = createNames('bank', 'app')

function functionsOf(own: Readonly<Record<string, string>>): ServiceFunctions {
  const files = async () => Object.entries(own).map(([name, text]) => ({ name, text, hash: text }))
  return { files, release: '1.0.0', replacesOwnRelease: false, invoker: ['tell_time'] }
}

describe('functions that run with the rights of their owner', () => {
  const role = 'bank_service'
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>
  let options: MigrateOptions
  let client: pg.Client
  beforeEach(async () => {
    database = await createEmptyDatabase()
    const grants = { role, appendOnly: [], readOnly: ['accounts'], columns: { accounts: ['note'] } }
    options = { url: database.url, names, sources, functions: functionsOf(texts), grants }
    client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await migrateUp(options)
  })
  afterEach(async () => {
    await client.end()
    await database.drop()
  })

  /** Runs a statement as the role. Returns the first value, or the error code if PostgreSQL refuses it. */
  const asRole = async (statement: string): Promise<unknown> => {
    await client.query(`SET ROLE ${role}`)
    try {
      const { rows } = await client.query({ text: statement, rowMode: 'array' })
      return rows[0]?.[0]
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error
      return error.code
    } finally {
      await client.query('RESET ROLE')
    }
  }

  it('are the only way to a table that the role may read', async () => {
    expect(await asRole('UPDATE bank.app_accounts SET balance = 100')).toBe('42501')
    expect(await asRole("INSERT INTO bank.app_accounts VALUES ('b', 1)")).toBe('42501')
    expect(await asRole('DELETE FROM bank.app_accounts')).toBe('42501')
    expect(await asRole('SELECT bank.app_move(100)')).toBe('42501')
    expect(await asRole('SELECT bank.app_deposit()')).toBe('done')
    expect(await asRole('SELECT bank.app_total()')).toBe('6')
    expect(await asRole('SELECT bank.app_tell_time()')).toBeInstanceOf(Date)
  })

  it('leave a named column to the role', async () => {
    expect(await asRole("UPDATE bank.app_accounts SET note = 'x' RETURNING note")).toBe('x')
  })

  it('are not misled by objects that the role creates', async () => {
    await client.query(`SET ROLE ${role}`)
    await client.query('CREATE TEMP TABLE app_accounts (name text, balance int, note text)')
    await client.query("CREATE FUNCTION pg_temp.lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'forged' $$")
    await client.query('SET search_path = pg_temp, pg_catalog')
    expect((await client.query('SELECT bank.app_deposit() AS answer')).rows).toEqual([{ answer: 'done' }])
    await client.query('RESET search_path; RESET ROLE')
    expect(await asRole('SELECT bank.app_total()')).toBe('6')
  })

  it('keep their rights when their text is replaced, without drift', async () => {
    const replaced = { ...options, functions: functionsOf({ ...texts, deposit: deposit(7) }) }
    expect(await migrateUp(replaced)).toEqual({ migrations: [], functions: ['deposit'] })
    expect(await asRole('SELECT bank.app_deposit()')).toBe('done')
    expect(await asRole('SELECT bank.app_total()')).toBe('8')
    expect(await asRole('SELECT bank.app_move(100)')).toBe('42501')
    expect((await findDrift(replaced)).differences).toEqual([])
    await client.query('ALTER FUNCTION bank.app_deposit SECURITY INVOKER')
    const { differences } = await findDrift(replaced)
    expect(differences.map(({ object }) => object)).toEqual(['function app_deposit()'])
  })
})

it('functions have the rights of their owner where the service has no role of its own', async () => {
  const { url, drop } = await createEmptyDatabase()
  await migrateUp({ url, names, sources, functions: functionsOf(texts) })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `SELECT proname, proconfig, has_function_privilege('public', oid, 'EXECUTE') AS open FROM pg_proc
     WHERE pronamespace = 'bank'::regnamespace AND (prosecdef OR provolatile = 'v') ORDER BY proname`,
  )
  expect(rows).toEqual([
    { proname: 'app_deposit', proconfig: ['search_path=pg_catalog, pg_temp'], open: false },
    { proname: 'app_move', proconfig: null, open: false },
    { proname: 'app_tell_time', proconfig: null, open: true },
  ])
  expect((await client.query('SELECT bank.app_deposit()')).rowCount).toBe(1)
  await client.end()
  await drop()
})

it('the role gets its rights beside a namespace with a longer prefix, and none to its tables', async () => {
  const { url, drop } = await createEmptyDatabase()
  const grants = { role: 'bank_service', appendOnly: [], readOnly: ['accounts'] }
  await migrateUp({ url, names: createNames('bank', 'application'), sources })
  await migrateUp({ url, names, sources, grants })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `SELECT relname, has_table_privilege('bank_service', oid, 'SELECT') AS reads FROM pg_class
     WHERE relnamespace = 'bank'::regnamespace AND relname LIKE '%accounts' ORDER BY relname`,
  )
  expect(rows).toEqual([
    { relname: 'app_accounts', reads: true },
    { relname: 'application_accounts', reads: false },
  ])
  await client.end()
  await drop()
})

it('functions and rights are kept in a schema whose name needs quotes', async () => {
  const { url, drop } = await createEmptyDatabase()
  const grants = { role: 'bank_service', appendOnly: [], readOnly: ['accounts'] }
  const options = { url, names: createNames('Old-Bank', 'app'), sources, grants }
  await migrateUp({ ...options, functions: functionsOf(texts) })
  const changed = { ...options, functions: functionsOf({ ...texts, deposit: deposit(7) }) }
  expect(await migrateUp(changed)).toEqual({ migrations: [], functions: ['deposit'] })
  expect((await findDrift(changed)).differences).toEqual([])
  const { deposit: _deposit, ...others } = texts
  await migrateUp({ ...options, functions: { ...functionsOf(others), release: '1.1.0' } })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `SELECT proname AS name, has_function_privilege('bank_service', oid, 'EXECUTE') AS called FROM pg_proc
     WHERE pronamespace = '"Old-Bank"'::regnamespace ORDER BY proname`,
  )
  expect(rows).toEqual([
    { name: 'app_move', called: false },
    { name: 'app_tell_time', called: true },
    { name: 'app_total', called: true },
  ])
  await client.end()
  await drop()
})

it('migrations leave the rights on functions of extensions in the schema', async () => {
  const { url, drop } = await createEmptyDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('CREATE SCHEMA bank; CREATE EXTENSION pgcrypto SCHEMA bank')
    const grants = { role: 'bank_service', appendOnly: [], readOnly: [], columns: {} }
    await migrateUp({ url, names: createNames('bank', ''), sources, functions: functionsOf(texts), grants })
    await client.query('SET ROLE bank_service')
    expect((await client.query("SELECT length(bank.gen_salt('bf')) AS bytes")).rows).toEqual([{ bytes: 29 }])
    await expect(client.query('SELECT bank.move(1)')).rejects.toThrow('permission denied for function move')
  } finally {
    await client.end()
    await drop()
  }
})
