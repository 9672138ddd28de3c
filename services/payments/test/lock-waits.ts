import { sql } from 'kysely'
import type { TestPayments } from './payments-app.ts'

/** The number of connections to the database of a test that wait for a lock. */
export async function countLockWaits({ owner }: Pick<TestPayments, 'owner'>): Promise<number> {
  const { rows } = await sql`SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(owner.db)
  return rows.length
}
