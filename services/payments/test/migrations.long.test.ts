import { glob, readFile } from 'node:fs/promises'
import { migrateDown, migrateUp } from '@trestle/database/migrations/migrate.ts'
import { planMigrations } from '@trestle/database/rehearsal/plan-migrations.ts'
import { placeOf } from '@trestle/migrations/functions.ts'
import { paymentsFunctions } from '@trestle/migrations/payments.ts'
import { readMade } from '@trestle/testing/migration-cuts.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  invokerFunctions,
  migrateOptions,
  operatorFunctions,
  readOnlyTables,
  rowsOfMerchants,
} from '../src/migrations.ts'
import { tableClasses } from '../src/placement/distributed-rows.ts'
import { openTestDatabase } from './payments-app.ts'

const MIGRATOR_TABLES = ['trestle_migrations', 'trestle_migrations_lock', 'trestle_functions']

/** The functions that run with the rights of their owner. Each of them extends what the login of the service can do. */
const DEFINERS = [
  'register_app',
  'create_key',
  'revoke_key',
  'user_of_email',
  'create_merchant',
  'update_merchant',
  'add_app',
  'revoke_app',
  'invite_user',
  'revoke_user',
  'accept_invitation',
  'wait_for_rebalance',
  'begin_charge',
  'finish_charge',
  'begin_payment',
  'finish_payment',
  'settle_attempt',
  'run_operations',
  'run_merchant_operations',
  'open_session',
  'offer_step',
  'take_step',
  'start_challenge',
  'decide_challenge',
  'expire_authorizations',
  'keep_card',
  'close_operation',
  'open_dispute',
  'close_dispute',
  'add_fraud',
  'book_settlement',
  'advance_clock',
  'pay_out',
  'snapshot_accounts',
  'delete_old_events',
  'delete_events_of',
  'delete_old_invitations',
  'create_webhook',
  'rotate_webhook_secret',
  'delete_webhook',
  'disable_webhook',
  'replay_webhook',
  'add_exception',
  'hold_events',
]

const OWNED = new Set(Object.entries(tableClasses).flatMap(([table, kind]) => (kind === 'owned' ? [table] : [])))
const SOURCES = new URL('../src', import.meta.url).pathname
/** Matches what changes rows of a table, in SQL or by Kysely. The group is the table, and undefined where a variable has it. */
const CHANGE =
  /(?:\b(?:UPDATE|DELETE FROM|MERGE INTO) \$\{sql\.(?:table|id)\(|\.(?:updateTable|deleteFrom|mergeInto)\()(?:'(\w+)'|\w+)\)?\}?/g

/** Queries the catalogue. `$1` is the schema, and `$2` lists the tables of the migrator, which every query leaves out. */
async function query<Row extends pg.QueryResultRow>(client: pg.Client, text: string): Promise<Row[]> {
  return (await client.query<Row>(text, ['payments', MIGRATOR_TABLES])).rows
}

describe('the schema', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>
  let client: pg.Client
  beforeAll(async () => {
    database = await openTestDatabase()
    client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(`CREATE FUNCTION public.code_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
      BEGIN
        EXECUTE statement;
        RETURN 'done';
      EXCEPTION WHEN OTHERS THEN
        RETURN SQLSTATE;
      END $$`)
  })
  afterAll(async () => {
    await client.end()
    await database.close()
  })

  it('has the tables of the class list, and no others', async () => {
    const tables = await query<{ relname: string }>(
      client,
      `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = $1::regnamespace
       AND relname <> ALL ($2::text[]) ORDER BY relname`,
    )
    expect(tables.map(({ relname }) => relname)).toEqual(Object.keys(tableClasses).sort())
  })

  it('names every constraint and index itself, within 30 characters', async () => {
    const rows = await query<{ name: string; kind: string }>(
      client,
      `SELECT conname AS name, contype::text AS kind FROM pg_constraint JOIN pg_class c ON c.oid = conrelid
       WHERE connamespace = $1::regnamespace AND contype <> 'n' AND c.relname <> ALL ($2::text[])
       UNION ALL
       SELECT i.relname, 'i' FROM pg_index JOIN pg_class i ON i.oid = indexrelid JOIN pg_class c ON c.oid = indrelid
       WHERE c.relnamespace = $1::regnamespace AND c.relname <> ALL ($2::text[])
       AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`,
    )
    const suffixes: Record<string, RegExp> = { p: /_pk$/, u: /_uq$/, f: /_fk$/, c: /_ck$/, t: /_ck$/, i: /_(ix|uq)$/ }
    for (const { name, kind } of rows) {
      expect(name).toMatch(suffixes[kind] ?? /never/)
      expect(name.length).toBeLessThanOrEqual(30)
    }
    expect(rows.length).toBeGreaterThan(30)
  })

  it('has merchant_id in every key and index below a merchant, and first in every primary key', async () => {
    const rows = await query<{ table: string; name: string; primary: boolean; columns: string[] }>(
      client,
      `SELECT c.relname AS "table", i.relname AS name, indisprimary AS primary,
         array(SELECT attname::text FROM unnest(indkey) WITH ORDINALITY k(num, place)
           JOIN pg_attribute ON attrelid = indrelid AND attnum = k.num ORDER BY place) AS columns
       FROM pg_index JOIN pg_class i ON i.oid = indexrelid JOIN pg_class c ON c.oid = indrelid
       WHERE c.relnamespace = $1::regnamespace AND c.relname <> ALL ($2::text[])
       UNION ALL
       SELECT c.relname, conname, false, array(SELECT attname::text FROM unnest(conkey) k(num)
         JOIN pg_attribute ON attrelid = conrelid AND attnum = k.num)
       FROM pg_constraint JOIN pg_class c ON c.oid = conrelid
       WHERE contype = 'f' AND c.relnamespace = $1::regnamespace AND c.relname <> ALL ($2::text[])`,
    )
    const below = rows.filter(({ table }) =>
      Object.entries(tableClasses).some(([t, c]) => t === table && c === 'owned'),
    )
    for (const { primary, columns } of below) {
      expect(columns).toContain('merchant_id')
      if (primary) expect(columns[0]).toBe('merchant_id')
    }
    expect(new Set(below.filter(({ primary }) => primary).map(({ table }) => table))).toEqual(
      new Set(Object.entries(tableClasses).flatMap(([table, kind]) => (kind === 'owned' ? [table] : []))),
    )
  })

  it('keeps every id as text in the C collation, and every instant in milliseconds', async () => {
    const rows = await query<{ column: string; type: string; collation: string }>(
      client,
      `SELECT c.relname || '.' || attname AS "column", format_type(atttypid, atttypmod) AS type, collname AS collation
       FROM pg_attribute JOIN pg_class c ON c.oid = attrelid LEFT JOIN pg_collation l ON l.oid = attcollation
       WHERE c.relnamespace = $1::regnamespace AND relkind = 'r' AND attnum > 0 AND c.relname <> ALL ($2::text[])
       AND (attname = 'id' OR attname LIKE '%\\_id' OR attname = 'created')`,
    )
    for (const { column, type, collation } of rows) {
      // The column holds the number of a vault key, not an id.
      if (column === 'instruments.key_id') continue
      if (column.endsWith('.created')) expect([column, type]).toEqual([column, 'timestamp(3) with time zone'])
      else expect([column, type, collation]).toEqual([column, 'text', 'C'])
    }
    expect(rows.length).toBeGreaterThan(15)
  })

  it('keeps the rows of a merchant on their server in every function there that reads or changes some', async () => {
    const begin = '\nBEGIN\n  PERFORM {{lock_tenant}}(p_merchant_id);\n'
    const files = await paymentsFunctions()
    const others = files.filter((file) => placeOf(file) === 'p_merchant_id' && !file.text.includes(begin))
    // Only insert a row.
    expect(others.map(({ name }) => name).toSorted()).toEqual(['add_exception', 'open_session'])
  })

  it('keeps the rows of a merchant on their server in every statement of the service that changes some', async () => {
    const found: string[] = []
    for await (const file of glob('**/*.ts', { cwd: SOURCES })) {
      if (/\.(test|model)\.ts$/.test(file)) continue
      for (const [, name] of (await readFile(`${SOURCES}/${file}`, 'utf8')).matchAll(CHANGE))
        if (name === undefined || OWNED.has(name)) found.push(`${file}: ${name ?? 'any table'}`)
    }
    // In a transaction that begins with lockTenant.
    const held = ['vault/rotation-repository.ts: instruments', 'vault/rotation-repository.ts: webhooks']
    // Runs again soon. What a statement did not find then is deleted by the next one.
    const repeated = [
      'placement/distributed-rows.ts: any table',
      'placement/distributed-rows.ts: any table',
      'placement/distributed-rows.ts: any table',
      'placement/distributed-rows.ts: outbox',
    ]
    // On one server.
    const plain = ['webhooks/outbox.ts: outbox']
    expect(found.toSorted()).toEqual([...held, ...repeated, ...plain].toSorted())
  })

  it('lets the role of the service make no tables', async () => {
    expect(await asService(['CREATE TABLE payments.x ()'])).toEqual(['42501'])
  })

  it.each(readOnlyTables)('lets the role of the service only read %s', async (table) => {
    const { rows } = await client.query<{ name: string }>(
      'SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped',
      [`payments.${table}`],
    )
    const changes = rows.map(({ name }) => [name, `UPDATE payments.${table} SET ${name} = ${name}`])
    const others = ['INSERT INTO', 'DELETE FROM', 'TRUNCATE'].map((verb) => [
      verb,
      verb === 'INSERT INTO' ? `INSERT INTO payments.${table} TABLE payments.${table}` : `${verb} payments.${table}`,
    ])
    const all = [...changes, ...others]
    const codes = await asService(all.map(([, statement = '']) => statement))
    const allowed = all.flatMap(([name], at) => (codes[at] === '42501' ? [] : [name]))
    // The rotation of vault keys writes these columns.
    expect(allowed).toEqual(table === 'instruments' ? ['pan_sealed', 'key_id', 'pan_mac'] : [])
  })

  it.each(rowsOfMerchants)('lets the role of operators only read %s', async (table) => {
    const { rows } = await client.query<{ right: string }>(
      `SELECT "right" FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) r ("right")
       WHERE has_table_privilege('payments_operators', $1::regclass, "right")
         OR "right" IN ('INSERT', 'UPDATE', 'REFERENCES') AND has_any_column_privilege('payments_operators', $1::regclass, "right")`,
      [`payments.${table}`],
    )
    expect(rows).toEqual([{ right: 'SELECT' }])
  })

  it('lets the role of the service call only the writing functions that it needs', async () => {
    const rows = await query<{
      name: string
      reads: boolean
      callable: boolean
      operators: boolean
      definer: boolean
      path: string | null
    }>(
      client,
      `SELECT proname AS name, provolatile <> 'v' AS reads, prosecdef AS definer,
         has_function_privilege('payments_service', oid, 'EXECUTE') AS callable,
         has_function_privilege('payments_operators', oid, 'EXECUTE') AS operators,
         (SELECT setting FROM unnest(proconfig) setting WHERE setting LIKE 'search_path=%') AS path
       FROM pg_proc WHERE pronamespace = $1::regnamespace AND proname <> ALL ($2::text[])`,
    )
    const named = (keep: (row: (typeof rows)[number]) => boolean) =>
      rows
        .filter(keep)
        .map(({ name }) => name)
        .toSorted()
    expect(named((row) => row.callable && !row.reads)).toEqual([...DEFINERS, ...invokerFunctions].toSorted())
    expect(named((row) => row.operators && !row.callable)).toEqual(operatorFunctions.toSorted())
    const definers = [...DEFINERS, ...operatorFunctions].toSorted()
    expect(named((row) => row.definer)).toEqual(definers)
    expect(named((row) => row.path === 'search_path=pg_catalog, pg_temp')).toEqual(definers)
  })

  /** Runs each statement as the role of the service, and rolls all back. Returns the code of each error, or `done`. */
  async function asService(statements: readonly string[]): Promise<readonly unknown[]> {
    await client.query('BEGIN; SET LOCAL ROLE payments_service')
    try {
      const codes =
        'SELECT public.code_of(statement) AS code FROM unnest($1::text[]) WITH ORDINALITY s (statement, place)'
      const { rows } = await client.query<{ code: string }>(`${codes} ORDER BY place`, [statements])
      return rows.map(({ code }) => code)
    } finally {
      await client.query('ROLLBACK')
    }
  }
})

describe('the ledger', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>
  let owner: pg.Client
  beforeAll(async () => {
    database = await openTestDatabase()
    owner = new pg.Client({ connectionString: database.url })
    await owner.connect()
  })
  afterAll(async () => {
    await owner.end()
    await database.close()
  })

  /** Inserts one journal with an entry for each amount and currency. */
  const insertEntries = (...entries: readonly (readonly [amount: number, currency: string])[]) =>
    owner.query(
      `INSERT INTO payments.entries (merchant_id, journal_id, seq, account, currency, amount, test)
       SELECT repeat('a', 24), repeat('b', 24), seq, 'bank', currency, amount, true
       FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY e (amount, currency, seq)`,
      [entries.map(([amount]) => amount), entries.map(([, currency]) => currency)],
    )

  it.each(['journals', 'entries', 'trail_entries', 'lines'])('refuses its owner too to change %s', async (table) => {
    const message = `${table} is append-only`
    await expect(owner.query(`UPDATE payments.${table} SET merchant_id = ''`)).rejects.toThrow(message)
    await expect(owner.query(`DELETE FROM payments.${table}`)).rejects.toThrow(message)
    await expect(owner.query(`TRUNCATE payments.${table}`)).rejects.toThrow(message)
  })

  it('hashes texts as UTF-8 in sessions of any encoding', async () => {
    const { rows } = await owner.query<{ name: string; pinned: boolean }>(
      `SELECT proname AS name, coalesce(proconfig, '{}') @> '{client_encoding=UTF8}' AS pinned FROM pg_proc
       WHERE pronamespace = 'payments'::regnamespace AND prosrc LIKE '%record_send%' ORDER BY proname`,
    )
    expect(rows).toEqual(['post', 'record_states', 'row_digests'].map((name) => ({ name, pinned: true })))
  })

  it('refuses a journal that does not sum to zero in each currency', async () => {
    const message = `journal ${'b'.repeat(24)} does not sum to zero`
    await expect(insertEntries([5, 'EUR'], [-4, 'EUR'])).rejects.toThrow(message)
    await expect(insertEntries([5, 'EUR'], [-5, 'DKK'])).rejects.toThrow(message)
    await expect(owner.query('SELECT FROM payments.entries')).resolves.toHaveProperty('rowCount', 0)
    await insertEntries([5, 'EUR'], [-5, 'EUR'], [7, 'DKK'], [-7, 'DKK'])
    await expect(owner.query('SELECT FROM payments.entries')).resolves.toHaveProperty('rowCount', 4)
  })

  it('plans reads by key, also when the plan was made for small tables', async () => {
    // These functions need no such setting: a caller sets it, they scan whole tables, or they read no table.
    const others = [
      'judge_access',
      'decide_operation',
      'insert_movement',
      'owners',
      'user_member',
      'end_invitations_by',
      'add_audit',
      'add_event',
      'record_event',
      'record_merchant_update',
      'enqueue',
      'finish_key',
      'release_key',
      'merchant_now',
      'balance_movement',
      'charge_source',
      'net_captures',
      'reversal_gross',
      'correction_gross',
      'dispute_reserve',
      'not_yet_due',
      'currency_opened',
      'movement_in_euro',
      'scheme_receivable',
      'scheme_returnable',
      'fx_rate',
      'snapshot_accounts',
      'add_merchant',
      'judge_test_access',
      'claim_creation',
      'add_first_member',
      'user_of_email',
      'take_ids',
      'lock_tenant',
      'wait_for_rebalance',
      'dispute_movement',
      'post_payout',
      'exchange',
      'captured_value',
      'exchange_ratio',
      'advance_clock',
      'expire_authorizations',
      'new_id',
      'mark_disputed',
      'ask_for_dispute',
      'check_zero_sum',
      'refuse_change',
    ]
    const { rows } = await owner.query<{ name: string }>(
      `SELECT proname AS name FROM pg_proc JOIN pg_language l ON l.oid = prolang
       WHERE pronamespace = 'payments'::regnamespace AND lanname = 'plpgsql'
         AND NOT coalesce(proconfig, '{}') @> '{plan_cache_mode=force_generic_plan,enable_seqscan=off}'`,
    )
    expect(rows.map(({ name }) => name).toSorted()).toEqual(others.toSorted())
  })
})

describe('the migrations', () => {
  it('go up, down and up again to the same objects, under a prefix', async () => {
    const { url, drop } = await createEmptyDatabase()
    const options = migrateOptions({ database: { migrationUrl: url, namespace: 'shop', role: undefined } })
    const names = Object.keys(options.sources)
    expect((await planMigrations(options)).map(({ name }) => name)).toEqual(names)
    expect((await migrateUp(options)).migrations).toEqual(names)
    const before = await readMade(options)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const objects = await client.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'payments'::regnamespace AND relkind IN ('r', 'i', 'S')
       UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'payments'::regnamespace
       UNION ALL SELECT conname FROM pg_constraint WHERE connamespace = 'payments'::regnamespace AND contype <> 'n'`,
    )
    for (const { name } of objects.rows) expect(name).toMatch(/^shop_/)
    await client.query(
      "SELECT payments.shop_create_app(decode(repeat('01', 32), 'hex'), 'hint', 'name'), payments.shop_new_id('00000000')",
    )
    for (const name of names.toReversed()) expect((await migrateDown(options)).migrations).toEqual([name])
    expect((await migrateUp(options)).migrations).toEqual(names)
    expect(await readMade(options)).toEqual(before)
    await client.end()
    await drop()
  })
})
