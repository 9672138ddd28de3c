import type { Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'
import type { PaymentsDeps } from '../deps.ts'
import { deleteUnusedApps } from './unused-apps.ts'

/** Deletes rows that nobody needs any more, every hour, once among all processes. */
export const cleanUpTask = defineTask<Record<string, never>>('clean_up', {
  retryLimit: 3,
  firstDelaySeconds: 60,
  longestDelaySeconds: 600,
  timeoutSeconds: 600,
  sealed: false,
})
export const CLEAN_UP_CRON = '17 * * * *'

/** How many rows of a table were deleted. */
export type CleanedRows = Readonly<Partial<Record<keyof PaymentsTables, number>>>

interface StaleRows {
  readonly table: keyof PaymentsTables
  /** What of the table has an index for it, or is small. */
  readonly stale: RawBuilder<unknown>
}

const rules: readonly StaleRows[] = [
  { table: 'idempotency', stale: sql`created < now() - interval '24 hours'` },
  { table: 'merchant_creations', stale: sql`created < now() - interval '24 hours'` },
  { table: 'payment_sessions', stale: sql`expires < now()` },
  { table: 'spent_tokens', stale: sql`expires < now()` },
  { table: 'token_merchants', stale: sql`expires < now()` },
  // A while longer, so that its page can say that it is over.
  { table: 'invitations', stale: sql`expires < now() - interval '30 days'` },
  { table: 'app_invitations', stale: sql`expires < now() - interval '30 days'` },
]

const BATCH = 1_000
const MERCHANTS = 1_000

/**
 * Deletes what is stale, a batch a statement; rows that somebody holds are left for the next time. `unusedAppDays`: after which
 * apps go that nobody uses; 0: never.
 */
export async function cleanUp(
  db: Kysely<PaymentsTables>,
  { unusedAppDays }: Pick<PaymentsDeps, 'unusedAppDays'>,
): Promise<CleanedRows> {
  const counts: Partial<Record<keyof PaymentsTables, number>> = {}
  for (const { table, stale } of rules) counts[table] = await deleteRows(db, table, staleRows(table, stale))
  counts.events = await deleteOldEvents(db)
  counts.apps = unusedAppDays === 0 ? 0 : await deleteUnusedApps(db, unusedAppDays)
  return counts
}

/** What is done with the job: the numbers go to the log. */
export async function runCleanUp({
  db,
  logger,
  unusedAppDays,
}: Pick<PaymentsDeps, 'logger' | 'unusedAppDays'> & { readonly db: Kysely<PaymentsTables> }): Promise<Outcome> {
  logger.info({ rows: await cleanUp(db, { unusedAppDays }) }, 'cleaned up')
  return 'done'
}

const staleRows = (table: keyof PaymentsTables, stale: RawBuilder<unknown>) =>
  sql`SELECT ctid FROM ${sql.table(table)} WHERE ${stale} LIMIT ${sql.lit(BATCH)} FOR UPDATE SKIP LOCKED`

/** Deletes rows until there is no full batch of them. @param batch selects the `ctid` of at most BATCH rows */
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

/** Events are found merchant by merchant, by their ids. A function deletes them: the service may not. */
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
