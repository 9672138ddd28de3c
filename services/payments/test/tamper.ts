import { distributed } from '@trestle/testing/temporary-database.ts'
import type pg from 'pg'

/** The key columns by table. All other tables have `merchant_id` and `id`. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  merchants: ['id'],
  merchant_balances: ['merchant_id'],
  entries: ['merchant_id', 'journal_id', 'seq'],
}

const keysOf = (table: string): readonly string[] => KEYS[table] ?? ['merchant_id', 'id']

/** A row to alter. `id` is how `ledger verify` names it: an entry by its journal, a balance by its merchant. */
export interface TamperRow {
  readonly table: string
  readonly merchantId: string
  readonly id: string
  /** The physical place of the row, which changes when the row is altered. */
  readonly ctid: string
}

/** A column that `disarm` left without its checks. `type` as PostgreSQL writes it. */
export interface TamperColumn {
  readonly name: string
  readonly type: string
}

/** Drops every key, every check and each NOT NULL of the tables that a server has, with the parts of distributed tables. */
const DROP_CHECKS = `DO $$ DECLARE c record; BEGIN
    SET LOCAL citus.enable_ddl_propagation = off;
    CREATE TEMP VIEW own AS SELECT oid, oid::regclass AS t FROM pg_class
      WHERE relnamespace = 'payments'::regnamespace AND relkind = 'r';
    FOR c IN SELECT t, conname FROM pg_constraint JOIN own ON own.oid = conrelid
      WHERE contype IN ('f', 'c', 'p', 'u') ORDER BY contype = 'f' DESC
    LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.conname); END LOOP;
    FOR c IN SELECT indexrelid::regclass AS i FROM pg_index JOIN own ON own.oid = indrelid WHERE indisunique
    LOOP EXECUTE format('DROP INDEX %s', c.i); END LOOP;
    FOR c IN SELECT t, attname FROM pg_attribute JOIN own ON own.oid = attrelid WHERE attnum > 0 AND attnotnull AND attname <> 'merchant_id'
    LOOP EXECUTE format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', c.t, c.attname); END LOOP;
    DROP VIEW own; END $$`

/**
 * Disables what the owner of the tables could disable: the triggers, keys, checks and NOT NULL of every table of the service.
 * Then copies the tables that will be altered.
 */
export async function disarm(client: pg.Client, tables: readonly string[]): Promise<void> {
  await client.query('SET session_replication_role = replica')
  if (distributed) {
    await client.query("SET citus.multi_shard_modify_mode = 'sequential'")
    await client.query(
      "SELECT run_command_on_placements(logicalrelid, 'ALTER TABLE %s DISABLE TRIGGER USER') FROM pg_dist_partition",
    )
    await dropChecksEverywhere(client)
  } else {
    await client.query(DROP_CHECKS)
  }
  await client.query('CREATE SCHEMA saved')
  for (const table of tables) {
    await client.query(`CREATE INDEX ON payments.${table} (${keysOf(table).join()})`)
    await client.query(`CREATE TABLE saved.${table} AS TABLE payments.${table}`)
  }
  await client.query('ANALYZE')
}

/** Each server drops its own checks. Sent by the coordinator, the hundreds of statements would take half a minute. */
async function dropChecksEverywhere(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ nodeid: number; result: string }>(
    'SELECT nodeid, result FROM run_command_on_all_nodes($1) WHERE NOT success',
    [DROP_CHECKS],
  )
  const [refusal] = rows
  if (refusal) throw new Error(`node ${refusal.nodeid} keeps its checks: ${refusal.result}`)
}

/** Reads the rows that a table has of a merchant, in the order of their keys. */
export async function readRows(client: pg.Client, table: string, merchantId: string): Promise<TamperRow[]> {
  const keys = keysOf(table)
  const { rows } = await client.query<{ id: string; ctid: string }>(
    `SELECT ${keys[1] ?? keys[0]} AS id, ctid::text FROM payments.${table} WHERE ${keys[0]} = $1 ORDER BY ${keys.join()}`,
    [merchantId],
  )
  return rows.map((row) => ({ table, merchantId, ...row }))
}

/** Reads the names and types of a table's columns. */
export async function readColumns(client: pg.Client, table: string): Promise<TamperColumn[]> {
  const { rows } = await client.query<TamperColumn>(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = ('payments.' || $1)::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [table],
  )
  return rows
}

/** The expression that alters one byte of a value `v`, by type. The whole number `$2` chooses the byte. */
const ALTERED: Readonly<Record<string, string>> = {
  text: `CASE WHEN v IS NULL OR v = '' THEN 'x' ELSE overlay(v PLACING
    CASE substr(v, 1 + $2::int % length(v), 1) WHEN 'x' THEN 'y' ELSE 'x' END FROM 1 + $2::int % length(v) FOR 1) END`,
  bigint: 'coalesce(v, 0) # (1::bigint << ($2::int % 48))',
  integer: 'coalesce(v, 0) # (1 << ($2::int % 24))',
  smallint: '(coalesce(v, 0) # (1 << ($2::int % 8)))::smallint',
  boolean: 'NOT coalesce(v, false)',
  bytea: `set_byte(v, $2::int % length(v), get_byte(v, $2::int % length(v)) # (1 + $2::int % 255))`,
  'timestamp with time zone': `coalesce(v, '2026-01-01') + ((1::bigint << ($2::int % 32)) || ' milliseconds')::interval`,
  date: "coalesce(v, '2026-01-01') + (1 << ($2::int % 8))",
  uuid: `overlay(v::text PLACING CASE right(v::text, 1) WHEN '0' THEN '1' ELSE '0' END FROM 36 FOR 1)::uuid`,
  // Alters the digits, else `true`. A value with neither becomes a member of an object.
  jsonb: `CASE WHEN v::text ~ '[0-8]' THEN regexp_replace(v::text, '[0-8]', '9')::jsonb
    WHEN v::text ~ 'true' THEN regexp_replace(v::text, 'true', 'false')::jsonb ELSE jsonb_build_object('x', v) END`,
}

/**
 * Alters one byte of a column, by a row in place of another: a distributed database would not change the column by which it finds
 * rows. Returns whether the value has changed.
 */
export async function alter(
  client: pg.Client,
  row: TamperRow,
  { name, type }: TamperColumn,
  choice: number,
): Promise<boolean> {
  const expression = ALTERED[type]?.replaceAll(/\bv\b/g, name)
  if (expression === undefined) throw new Error(`${type} cannot be altered`)
  const { where, value } = placeOf(row)
  const { rows } = await client.query<{ old: string; changed: string }>(
    `SELECT to_jsonb(t)::text AS old, jsonb_build_object('${name}', ${expression})::text AS changed
     FROM payments.${row.table} t WHERE ${where} AND $2::int >= 0 AND ${name} IS DISTINCT FROM ${expression}`,
    [value, choice],
  )
  const [found] = rows
  if (found === undefined) return false
  await remove(client, row)
  await client.query(
    `INSERT INTO payments.${row.table}
     SELECT * FROM jsonb_populate_record(NULL::payments.${row.table}, $1::jsonb || $2::jsonb)`,
    [found.old, found.changed],
  )
  return true
}

/** Deletes a row. */
export async function remove(client: pg.Client, row: TamperRow): Promise<void> {
  const { where, value } = placeOf(row)
  const { rowCount } = await client.query(`DELETE FROM payments.${row.table} WHERE ${where}`, [value])
  if (rowCount !== 1) throw new Error('nothing was removed')
}

/** Restores tables from their copies. */
export async function restore(client: pg.Client, ...tables: readonly string[]): Promise<void> {
  const statements = tables.map(
    (table) => `DELETE FROM payments.${table}; INSERT INTO payments.${table} TABLE saved.${table}`,
  )
  await client.query(statements.join(';'))
}

/**
 * A merchant is found by its id, because its place differs on each server of a distributed database. Other rows are found by
 * their place.
 */
function placeOf({ table, merchantId, ctid }: TamperRow): { readonly where: string; readonly value: string } {
  const [key] = keysOf(table)
  return { where: `${key} = $1${table === 'merchants' ? '' : ` AND ctid = '${ctid}'`}`, value: merchantId }
}
