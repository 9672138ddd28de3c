import { defineTask } from '@trestle/jobs/task.ts'
import { type Kysely, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'

/** Sums every account up to the end of the day before, every night. */
export const snapshotTask = defineTask<Record<string, never>>('snapshot', {
  retryLimit: 5,
  firstDelaySeconds: 60,
  longestDelaySeconds: 3_600,
  timeoutSeconds: 10_000,
  sealed: false,
})

/** Sums the accounts of a merchant up to the end of yesterday, by the clock of the database. A second call changes nothing. */
export async function callSnapshotAccounts(db: Kysely<PaymentsTables>, merchantId: string): Promise<void> {
  await sql`
    SELECT ${sql.table('snapshot_accounts')}(${merchantId}, (now() AT TIME ZONE 'UTC')::date - 1)`.execute(db)
}
