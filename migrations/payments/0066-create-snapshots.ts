// Why: house accounts have no running totals; a sum of each account at the end of a day keeps their sums cheap.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createSnapshots: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // Sums of a merchant's accounts up to the end of a UTC day that is over. Each account goes on from its snapshot before;
    // one without entries since has none, and the one before stands. Answers how many were made.
    await sql`
      CREATE FUNCTION ${names.id('snapshot_accounts')}(p_merchant_id text, p_date date) RETURNS bigint
      LANGUAGE sql VOLATILE AS $$
        WITH day (first_id, next_id) AS (
          SELECT
            coalesce((
              SELECT ${names.id('first_id')}((max(s.date) + 1) AT TIME ZONE 'UTC')
              FROM ${names.id('account_snapshots')} s WHERE s.merchant_id = p_merchant_id AND s.date < p_date
            ), ''),
            ${names.id('first_id')}((p_date + 1) AT TIME ZONE 'UTC')
        ), added AS (
          SELECT e.account, e.currency, e.test, sum(e.amount) AS sum FROM ${names.id('entries')} e, day
          WHERE e.merchant_id = p_merchant_id AND e.journal_id >= day.first_id AND e.journal_id < day.next_id
          GROUP BY 1, 2, 3
        ), made AS (
          INSERT INTO ${names.id('account_snapshots')} (merchant_id, account, currency, test, date, sum)
          SELECT p_merchant_id, a.account, a.currency, a.test, p_date, a.sum + coalesce((
            SELECT s.sum FROM ${names.id('account_snapshots')} s
            WHERE s.merchant_id = p_merchant_id AND s.account = a.account AND s.currency = a.currency
              AND s.test = a.test AND s.date < p_date
            ORDER BY s.date DESC LIMIT 1
          ), 0)
          FROM added a
          ON CONFLICT DO NOTHING
          RETURNING 1
        )
        SELECT count(*) FROM made
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('snapshot_accounts')}(text, date)`.execute(db)
  },
})
