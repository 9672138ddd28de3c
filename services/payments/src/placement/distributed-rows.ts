import { createHash } from 'node:crypto'
import { literal } from '@trestle/citus/citus.ts'
import { isDatabaseUnavailable } from '@trestle/database/unavailable.ts'
import type { OutboxEntry, TakeRows } from '@trestle/jobs/outbox.ts'
import type { JobTransaction } from '@trestle/jobs/queue.ts'
import type { TableClass } from '@trestle/migrations/migration.ts'
import { sql } from 'kysely'
import type { Db, PaymentsTables } from '../database.ts'
import { eachMerchant } from '../merchants/each-merchant.ts'
import { type OutboxRow, outboxKinds, outboxRows, toEntries } from '../webhooks/outbox.ts'

/**
 * The class of each table, as its migration declares it. `reference`: small and rarely written. `owned`: below a merchant, with
 * `merchant_id` in each key and index. `local`: neither. `claim`: like `local`, but committed together with rows of merchants
 * (reference: Classes of tables).
 */
export const tableClasses: Readonly<Record<keyof PaymentsTables, TableClass>> = {
  apps: 'reference',
  app_keys: 'reference',
  users: 'reference',
  merchants: 'reference',
  merchant_apps: 'reference',
  merchant_users: 'reference',
  invitations: 'reference',
  id_aliases: 'reference',
  merchant_balances: 'owned',
  instruments: 'owned',
  transactions: 'owned',
  trail_entries: 'owned',
  lines: 'owned',
  journals: 'owned',
  entries: 'owned',
  state_entries: 'owned',
  account_snapshots: 'owned',
  cards: 'owned',
  disputes: 'owned',
  frauds: 'owned',
  payouts: 'owned',
  payment_sessions: 'owned',
  spent_tokens: 'owned',
  attempts: 'owned',
  acquirer_exceptions: 'owned',
  acquirer_operations: 'owned',
  events: 'owned',
  webhooks: 'owned',
  outbox: 'owned',
  idempotency: 'owned',
  audit: 'owned',
  fx_rates: 'reference',
  app_invitations: 'reference',
  merchant_creations: 'local',
  payout_batches: 'local',
  token_merchants: 'local',
  operator_changes: 'claim',
  operator_allowances: 'local',
  allowance_uses: 'local',
  registration: 'local',
  rate_limits: 'local',
}

const BATCH_MERCHANTS = 1_000
const BATCH_EVENTS = 1_000

/**
 * Deletes old rows of a distributed database and resolves to the number of deleted rows. Each statement deletes rows of one
 * merchant. Locked rows stay until the next run. Reference tables have few rows, and each node stores a row in a different
 * physical place, so one statement deletes these rows by their values. Invitations refer to merchants, and the service may not
 * lock merchants. So an SQL function deletes invitations that expired more than 30 days ago.
 */
export async function deleteOldDistributedRows(
  db: Db,
  table: keyof PaymentsTables & string,
  old: OldRows,
): Promise<number> {
  const isOld = sql`${sql.ref(old.column)} < now() - ${sql.lit(old.age)}::interval`
  switch (tableClasses[table]) {
    case 'local':
    case 'claim':
      return deleteOldRows(db, table, old)
    case 'reference': {
      if (table === 'invitations') return callDeleteOldInvitations(db)
      const { numAffectedRows = 0n } = await sql`DELETE FROM ${sql.table(table)} WHERE ${isOld}`.execute(db)
      return Number(numAffectedRows)
    }
    case 'owned':
      return deleteByMerchant(db, table, isOld)
  }
}

async function callDeleteOldInvitations(db: Db): Promise<number> {
  const { rows } = await sql<{ deleted: number }>`
    SELECT ${sql.table('delete_old_invitations')}() AS deleted`.execute(db)
  return rows[0]?.deleted ?? 0
}

/** Deletes by merchant, in the order of ids. If all old rows of a merchant are locked, they stay until the next run. */
async function deleteByMerchant(db: Db, table: string, isOld: ReturnType<typeof sql>): Promise<number> {
  let total = 0
  for (let after = ''; ; ) {
    const { rows } = await sql<{ merchant_id: string }>`
      SELECT DISTINCT merchant_id FROM ${sql.table(table)} WHERE merchant_id > ${after} AND ${isOld}
      ORDER BY merchant_id LIMIT ${sql.lit(BATCH_MERCHANTS)}`.execute(db)
    for (const { merchant_id: merchantId } of rows) {
      const { numAffectedRows = 0n } = await sql`
        DELETE FROM ${sql.table(table)} WHERE merchant_id = ${merchantId} AND ctid = ANY (ARRAY(
          SELECT ctid FROM ${sql.table(table)} WHERE merchant_id = ${merchantId} AND ${isOld} FOR UPDATE SKIP LOCKED
        ))`.execute(db)
      total += Number(numAffectedRows)
    }
    const last = rows.at(-1)
    if (!last || rows.length < BATCH_MERCHANTS) return total
    after = last.merchant_id
  }
}

/** Deletes events older than 30 days, on the node of each merchant. Resolves to the number of deleted events. */
export async function deleteOldEventsByMerchant(db: Db): Promise<number> {
  let total = 0
  for await (const merchantId of eachMerchant(db)) {
    for (let deleted = BATCH_EVENTS; deleted === BATCH_EVENTS; total += deleted) {
      const { rows } = await sql<{ deleted: number }>`
        SELECT ${sql.table('delete_events_of')}(${merchantId}, ${sql.lit(BATCH_EVENTS)}) AS deleted`.execute(db)
      deleted = rows[0]?.deleted ?? 0
    }
  }
  return total
}

interface RowKey {
  readonly merchant_id: string
  readonly id: string
}

/**
 * Takes rows of the outbox from the nodes of their merchants, for the job queue on the coordinator. No database transaction
 * contains both, so each job gets an id that is derived from its row. If a process ends between the commit of the jobs and the
 * deletion of the rows, the queue already has these ids and adds no second job. An event that is sent again has a later row and
 * gets a new id, because the queue keeps finished jobs for some time.
 *
 * One process takes rows at a time. Its lock, on the coordinator, belongs to the table, because another namespace has its own
 * outbox. While a server is unavailable, the rows of its merchants wait and all other rows are taken.
 */
export function takeDistributedRows(db: Db): TakeRows {
  return async (trx, limit, left) => {
    const lock = await sql<{ granted: boolean }>`
      SELECT pg_try_advisory_xact_lock(typrelid::bigint) AS granted
      FROM pg_type WHERE oid = pg_typeof(NULL::${sql.table('outbox')})`.execute(trx)
    if (lock.rows[0]?.granted !== true) return { rows: 0, entries: [] }
    const rows = await listRows(trx, limit, left)
    const byMerchant = [...Map.groupBy(rows, (row) => row.merchant_id)].map(
      ([merchantId, keys]) => [merchantId, keys.map(({ id }) => id)] as const,
    )
    const entries: OutboxEntry[] = []
    const read: TimedRow[] = []
    for (const [merchantId, ids] of byMerchant) {
      const found = await sql<TimedRow>`
        SELECT t.created, ${outboxRows(sql`${merchantId}`)} WHERE t.merchant_id = ${merchantId} AND t.id = ANY (${ids}::text[])`.execute(
        trx,
      )
      entries.push(...found.rows.flatMap((row) => toEntries(row).map((entry) => ({ ...entry, id: jobId(row) }))))
      read.push(...found.rows)
    }
    return { rows: rows.length, entries, remove: () => deleteRows(db, read) }
  }
}

/** Lists rows of all available servers. A statement on all shards fails while one server is unavailable. */
async function listRows(trx: JobTransaction, limit: number, left: readonly string[]): Promise<readonly RowKey[]> {
  await sql`SAVEPOINT rows`.execute(trx)
  try {
    const { rows } = await sql<RowKey>`
      SELECT merchant_id, id FROM ${sql.table('outbox')} WHERE kind <> ALL (${outboxKinds(left)}::text[])
      LIMIT ${sql.lit(limit)}`.execute(trx)
    return rows
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
    await sql`ROLLBACK TO rows`.execute(trx)
    return listShardRows(trx, limit, left)
  }
}

/** Lists rows shard by shard, with one connection for each shard. Leaves out shards that do not answer. */
async function listShardRows(trx: JobTransaction, limit: number, left: readonly string[]): Promise<readonly RowKey[]> {
  const kinds = outboxKinds(left).map(literal).join(', ')
  const ofShard = `SELECT json_agg(r) FROM (
    SELECT merchant_id, id FROM %s WHERE kind <> ALL (ARRAY[${kinds}]::text[]) LIMIT ${limit}) r`
  const { rows } = await sql<RowKey>`
    SELECT r.merchant_id, r.id FROM (
      SELECT result FROM run_command_on_shards(
        (SELECT typrelid::regclass FROM pg_type WHERE oid = pg_typeof(NULL::${sql.table('outbox')})), ${ofShard}
      ) WHERE success AND result <> ''
    ) answered, json_to_recordset(answered.result::json) AS r (merchant_id text, id text) LIMIT ${sql.lit(limit)}`.execute(
    trx,
  )
  return rows
}

/**
 * Deletes rows that were read. A row that a replay has written again since stays, because its webhooks may be others.
 * @throws Error the first failure, after the rows of all other merchants are deleted
 */
async function deleteRows(db: Db, read: readonly TimedRow[]): Promise<void> {
  const failures: unknown[] = []
  for (const [merchantId, rows] of Map.groupBy(read, (row) => row.merchant_id)) {
    const [ids, times] = [rows.map(({ id }) => id), rows.map(({ created }) => created)]
    await sql`
      DELETE FROM ${sql.table('outbox')} t
      WHERE t.merchant_id = ${merchantId} AND t.id = ANY (${ids}::text[]) AND t.created = ANY (${times}::timestamptz[])`
      .execute(db)
      .catch((error: unknown) => failures.push(error))
  }
  if (failures.length > 0) throw failures[0]
}

interface TimedRow extends OutboxRow {
  /** The time at which the row was written. */
  readonly created: Date
}

/** Returns a UUID (version 8) that depends only on the row and the webhook. Every process derives the same id. */
function jobId({ merchant_id, id, kind, webhook_id, created }: TimedRow): string {
  const hex = createHash('sha256')
    .update([merchant_id, id, kind, webhook_id, created.getTime()].join(' '))
    .digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Selects rows in which `column` is older than `age`, a PostgreSQL interval. */
export interface OldRows {
  readonly column: string
  readonly age: string
}

const BATCH_ROWS = 1_000

/**
 * Deletes old rows in batches, until a batch is not full. Resolves to the number of deleted rows. No lock order is needed,
 * because each statement skips locked rows. Locked rows stay until the next run. The table is small, or has an index on the
 * column.
 */
export async function deleteOldRows(
  db: Db,
  table: keyof PaymentsTables & string,
  { column, age }: OldRows,
): Promise<number> {
  const batch = sql`SELECT ctid FROM ${sql.table(table)} WHERE ${sql.ref(column)} < now() - ${sql.lit(age)}::interval
    LIMIT ${sql.lit(BATCH_ROWS)} FOR UPDATE SKIP LOCKED`
  let total = 0
  for (;;) {
    const { numAffectedRows = 0n } =
      await sql`DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY(${batch}))`.execute(db)
    total += Number(numAffectedRows)
    if (numAffectedRows < BATCH_ROWS) return total
  }
}
