import { distributed } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import type { TestPayments } from './payments-app.ts'

/** Connections that wait for a lock on the server of the row. */
const waits = distributed
  ? sql`SELECT FROM citus_lock_waits`
  : sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

/** Counts connections to a test's database that wait for a lock. */
export async function countLockWaits({ owner }: Pick<TestPayments, 'owner'>): Promise<number> {
  const { rows } = await waits.execute(owner.db)
  return rows.length
}
