import type pg from 'pg'

/** The tables that the chain covers, and the columns that name their rows. */
export const LEDGER_KEYS = {
  journals: ['merchant_id', 'id'],
  entries: ['merchant_id', 'journal_id', 'seq'],
  trail_entries: ['merchant_id', 'id'],
  lines: ['merchant_id', 'id'],
} as const

export type LedgerTable = keyof typeof LEDGER_KEYS

/** A row to alter, as JSON; what it holds can be put back. */
export interface LedgerRow {
  readonly table: LedgerTable
  readonly merchantId: string
  /** Of the link that it belongs to. */
  readonly linkId: string
  readonly json: string
}

/** Takes away what a superuser could take away: triggers, checks and keys of the ledger and of what stands beside it. */
export async function disarm(client: pg.Client): Promise<void> {
  await client.query('SET session_replication_role = replica')
  await client.query(`DO $$ DECLARE c record; BEGIN
    FOR c IN SELECT conrelid::regclass AS t, conname FROM pg_constraint JOIN pg_class r ON r.oid = conrelid
      WHERE connamespace = 'payments'::regnamespace AND contype IN ('c', 'p', 'u')
      AND (r.relname IN ('journals', 'entries', 'trail_entries', 'lines')
        OR r.relname IN ('transactions', 'disputes') AND contype = 'c')
    LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.conname); END LOOP; END $$`)
  for (const table of ['journals', 'entries', 'trail_entries', 'lines']) {
    await client.query(`CREATE INDEX ON payments.${table} (merchant_id, ${table === 'entries' ? 'journal_id' : 'id'})`)
    await client.query(`DO $$ DECLARE c record; BEGIN
      FOR c IN SELECT attname FROM pg_attribute WHERE attrelid = 'payments.${table}'::regclass AND attnum > 0
        AND attnotnull AND attname NOT IN ('merchant_id', 'id', 'journal_id', 'seq')
      LOOP EXECUTE format('ALTER TABLE payments.${table} ALTER COLUMN %I DROP NOT NULL', c.attname); END LOOP; END $$`)
  }
}

/** The rows of a ledger table below a merchant, in the order of their links. */
export async function readRows(client: pg.Client, table: LedgerTable, merchantId: string): Promise<LedgerRow[]> {
  const linkId = table === 'entries' ? 'journal_id' : 'id'
  const { rows } = await client.query<{ link_id: string; json: string }>(
    `SELECT ${linkId} AS link_id, row_to_json(r)::text AS json FROM payments.${table} r
     WHERE merchant_id = $1 ORDER BY ${LEDGER_KEYS[table].join()}`,
    [merchantId],
  )
  return rows.map((row) => ({ table, merchantId, linkId: row.link_id, json: row.json }))
}

/** Names and types of a table's columns. */
export async function readColumns(client: pg.Client, table: LedgerTable): Promise<{ name: string; type: string }[]> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = ('payments.' || $1)::regclass AND attnum > 0 ORDER BY attnum`,
    [table],
  )
  return rows
}

/** What one byte of a value of each type becomes; `$2` is any whole number, which chooses the byte. */
const ALTERED: Readonly<Record<string, string>> = {
  text: `CASE WHEN v IS NULL OR v = '' THEN 'x' ELSE overlay(v PLACING
    CASE substr(v, 1 + $2::int % length(v), 1) WHEN 'x' THEN 'y' ELSE 'x' END FROM 1 + $2::int % length(v) FOR 1) END`,
  bigint: 'coalesce(v, 0) # (1::bigint << ($2::int % 48))',
  integer: 'coalesce(v, 0) # (1 << ($2::int % 24))',
  smallint: '(coalesce(v, 0) # (1 << ($2::int % 8)))::smallint',
  boolean: 'NOT coalesce(v, false)',
  bytea: `set_byte(v, $2::int % length(v), get_byte(v, $2::int % length(v)) # (1 + $2::int % 255))`,
  'timestamp with time zone': `v + ((1::bigint << ($2::int % 32)) || ' milliseconds')::interval`,
  date: "coalesce(v, '2026-01-01') + (1 << ($2::int % 8))",
}

/** Alters one byte of a column. Answers whether the value is another now. */
export async function alter(
  client: pg.Client,
  row: LedgerRow,
  { name, type }: { readonly name: string; readonly type: string },
  choice: number,
): Promise<boolean> {
  const expression = ALTERED[type]
  if (expression === undefined) throw new Error(`${type} cannot be altered`)
  const keys = LEDGER_KEYS[row.table].map((key) => `t.${key} = k.${key}`).join(' AND ')
  const { rowCount } = await client.query(
    `UPDATE payments.${row.table} t SET ${name} = ${expression.replaceAll(/\bv\b/g, `t.${name}`)}
     FROM json_populate_record(NULL::payments.${row.table}, $1::json) k
     WHERE ${keys} AND $2::int >= 0 AND t.${name} IS DISTINCT FROM ${expression.replaceAll(/\bv\b/g, `t.${name}`)}`,
    [row.json, choice],
  )
  return rowCount === 1
}

/** Takes a row out. */
export async function remove(client: pg.Client, row: LedgerRow): Promise<void> {
  const keys = LEDGER_KEYS[row.table].map((key) => `t.${key} = k.${key}`).join(' AND ')
  await client.query(
    `DELETE FROM payments.${row.table} t USING json_populate_record(NULL::payments.${row.table}, $1::json) k WHERE ${keys}`,
    [row.json],
  )
}

/** Puts the rows of a table below a merchant back as they were. */
export async function restore(client: pg.Client, rows: readonly LedgerRow[]): Promise<void> {
  const [first] = rows
  if (!first) return
  const json = `[${rows.map((row) => row.json).join()}]`
  await client.query('BEGIN')
  // An altered merchant_id has moved the row elsewhere: it is found by the hash or the journal that it kept.
  await client.query(
    `DELETE FROM payments.${first.table} t USING json_populate_recordset(NULL::payments.${first.table}, $1::json) k
     WHERE ${first.table === 'entries' ? 't.journal_id = k.journal_id OR' : 't.hash = k.hash OR'} t.merchant_id = $2`,
    [json, first.merchantId],
  )
  await client.query(
    `INSERT INTO payments.${first.table}
     SELECT * FROM json_populate_recordset(NULL::payments.${first.table}, $1::json)`,
    [json],
  )
  await client.query('COMMIT')
}
