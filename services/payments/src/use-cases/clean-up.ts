import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'

/** How many rows of a table were deleted. */
export type CleanedRows = Readonly<Partial<Record<keyof PaymentsTables, number>>>

/** Deletes expired and old rows every hour, in one process at a time. */
export const cleanUpTask = defineTask<Record<string, never>>('clean_up', {
  retryLimit: 3,
  firstDelaySeconds: 60,
  longestDelaySeconds: 600,
  timeoutSeconds: 600,
  sealed: false,
})
/** When the task runs: in minute 17 of each hour. */
export const CLEAN_UP_CRON = '17 * * * *'

interface CleanUpDeps {
  readonly db: Kysely<PaymentsTables>
  readonly logger: Pick<ServiceLogger['logger'], 'info'>
  readonly unusedAppDays: number
}

interface StaleRows {
  readonly table: keyof PaymentsTables
  /** The condition of a stale row. An index serves it, or the table is small. */
  readonly stale: RawBuilder<unknown>
}

const rules: readonly StaleRows[] = [
  { table: 'idempotency', stale: sql`created < now() - interval '24 hours'` },
  { table: 'merchant_creations', stale: sql`created < now() - interval '24 hours'` },
  { table: 'payment_sessions', stale: sql`expires < now()` },
  { table: 'spent_tokens', stale: sql`expires < now()` },
  { table: 'token_merchants', stale: sql`expires < now()` },
  // Kept for 30 more days, so that the page of the invitation can say that it has expired.
  { table: 'invitations', stale: sql`expires < now() - interval '30 days'` },
  { table: 'app_invitations', stale: sql`expires < now() - interval '30 days'` },
]

const BATCH = 1_000
const MERCHANTS = 1_000

/**
 * Deletes expired and old rows, a batch a statement. Locked rows stay until the next run. `unusedAppDays`: the age at which apps
 * that nobody uses are deleted; 0: never.
 */
export async function cleanUp(
  db: Kysely<PaymentsTables>,
  { unusedAppDays }: { readonly unusedAppDays: number },
): Promise<CleanedRows> {
  const counts: Partial<Record<keyof PaymentsTables, number>> = {}
  for (const { table, stale } of rules) counts[table] = await deleteRows(db, table, staleRows(table, stale))
  counts.events = await deleteOldEvents(db)
  counts.apps = unusedAppDays === 0 ? 0 : await deleteUnusedApps(db, unusedAppDays)
  return counts
}

/** The hourly job. Logs how many rows of each table were deleted. */
export async function runCleanUp({ db, logger, unusedAppDays }: CleanUpDeps): Promise<Outcome> {
  logger.info({ rows: await cleanUp(db, { unusedAppDays }) }, 'cleaned up')
  return 'done'
}

const staleRows = (table: keyof PaymentsTables, stale: RawBuilder<unknown>) =>
  sql`SELECT ctid FROM ${sql.table(table)} WHERE ${stale} LIMIT ${sql.lit(BATCH)} FOR UPDATE SKIP LOCKED`

/**
 * Deletes batches of rows until one is not full.
 * @param batch selects the `ctid` of at most BATCH rows
 */
async function deleteRows(
  db: Kysely<PaymentsTables>,
  table: keyof PaymentsTables,
  batch: RawBuilder<unknown>,
): Promise<number> {
  let total = 0
  for (;;) {
    const { numAffectedRows = 0n } =
      await sql`DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY(${batch}))`.execute(db)
    total += Number(numAffectedRows)
    if (numAffectedRows < BATCH) return total
  }
}

/** Finds events by their ids, merchant by merchant. A SQL function deletes them, because the service may not. */
async function deleteOldEvents(db: Kysely<PaymentsTables>): Promise<number> {
  let total = 0
  let after = ''
  for (;;) {
    const { rows } = await sql<{ id: string }>`
      SELECT id FROM ${sql.table('merchants')} WHERE id > ${after} ORDER BY id LIMIT ${sql.lit(MERCHANTS)}`.execute(db)
    const last = rows.at(-1)
    if (!last) return total
    const ids = rows.map(({ id }) => id)
    for (let deleted = BATCH; deleted === BATCH; total += deleted) deleted = await deleteBatchOfEvents(db, ids)
    after = last.id
  }
}

async function deleteBatchOfEvents(db: Kysely<PaymentsTables>, merchantIds: readonly string[]): Promise<number> {
  const { rows } = await sql<{ deleted: number }>`
    SELECT ${sql.table('delete_old_events')}(${merchantIds}::text[], ${sql.lit(BATCH)}) AS deleted`.execute(db)
  return rows[0]?.deleted ?? 0
}

/**
 * Deletes apps that look after no merchant and whose keys were not used for so many days. An app that becomes a member
 * meanwhile is locked, and stays. Resolves to how many were deleted.
 */
async function deleteUnusedApps(db: Kysely<PaymentsTables>, days: number): Promise<number> {
  let total = 0
  for (;;) {
    const { seen, deleted } = await deleteBatchOfApps(db, days)
    total += deleted
    if (seen < BATCH || deleted === 0) return total
  }
}

async function deleteBatchOfApps(db: Kysely<PaymentsTables>, days: number) {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ id: string }>`
      SELECT a.id FROM ${sql.table('apps')} a
      WHERE a.created < now() - make_interval(days => ${days}::int) AND ${belongsToNoMerchant()} AND NOT EXISTS (
        SELECT FROM ${sql.table('app_keys')} k
        WHERE k.app_id = a.id AND greatest(k.created, k.last_used) >= now() - make_interval(days => ${days}::int)
      ) LIMIT ${sql.lit(BATCH)} FOR UPDATE SKIP LOCKED`.execute(trx)
    // Looked at again under the lock: a membership that was made before it is committed now.
    const ids = await sql<{ id: string }>`
      SELECT a.id FROM ${sql.table('apps')} a WHERE a.id = ANY (${rows.map(({ id }) => id)}::text[]) AND ${belongsToNoMerchant()}`
      .execute(trx)
      .then((free) => free.rows.map(({ id }) => id))
    await sql`DELETE FROM ${sql.table('app_keys')} WHERE app_id = ANY (${ids}::text[])`.execute(trx)
    await sql`DELETE FROM ${sql.table('apps')} WHERE id = ANY (${ids}::text[])`.execute(trx)
    return { seen: rows.length, deleted: ids.length }
  })
}

function belongsToNoMerchant() {
  return sql`NOT EXISTS (SELECT FROM ${sql.table('merchant_apps')} m WHERE m.app_id = a.id)`
}
