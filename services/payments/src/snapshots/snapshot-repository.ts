import { type Kysely, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'

/** Sums a merchant's accounts up to the end of yesterday (UTC, by the database's clock). Again it changes nothing. */
export async function callSnapshotAccounts(db: Kysely<PaymentsTables>, merchantId: string): Promise<void> {
  await sql`
    SELECT ${sql.table('snapshot_accounts')}(${merchantId}, (now() AT TIME ZONE 'UTC')::date - 1)`.execute(db)
}
