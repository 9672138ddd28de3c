// Why: rows from before their functions recorded them are recorded as they are now, so that whatever changes from here on shows.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

const TABLES = ['merchants', 'transactions', 'cards', 'disputes', 'acquirer_operations', 'payouts'] as const

export const recordExisting: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // Calls that began before their functions were replaced end before the rows are read; later ones wait.
    await sql`
      LOCK TABLE ${sql.join(TABLES.map((table) => names.id(table)))} IN SHARE ROW EXCLUSIVE MODE`.execute(db)
    // Operations that were handed over before their answers were kept: from here on each has a row, so that none can be removed.
    await sql`
      INSERT INTO ${names.id('acquirer_operations')} (merchant_id, id, created, transaction_id, kind, status, answered)
      SELECT e.merchant_id, e.id, e.created, e.transaction_id, e.kind, 'accepted', e.created
      FROM ${names.id('trail_entries')} e
      JOIN ${names.id('transactions')} t
        ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id AND NOT t.test AND t.acquirer_ref IS NOT NULL
      WHERE e.amount > 0 AND e.kind IN ('capture', 'refund', 'void') AND coalesce(left(e.reference, 9), '') <> 'accepted '
      ON CONFLICT DO NOTHING`.execute(db)
    for (const table of TABLES) {
      const merchant = table === 'merchants' ? sql`r.id` : sql`r.merchant_id`
      // Ten thousand rows of a merchant at a time: its chain is extended once for all of them.
      await sql`
        DO $$ DECLARE part record; BEGIN
          FOR part IN
            SELECT merchant_id, array_agg(id ORDER BY id) AS ids FROM (
              SELECT ${merchant} AS merchant_id, r.id,
                row_number() OVER (PARTITION BY ${merchant} ORDER BY r.id) / 10000 AS place
              FROM ${names.id(table)} r
              WHERE ${table === 'acquirer_operations' ? sql`r.status <> 'open' AND` : sql``} NOT EXISTS (
                SELECT FROM ${names.id('state_entries')} s
                WHERE s.merchant_id = ${merchant} AND s.table_name = ${sql.lit(table)} AND s.row_id = r.id
              )
            ) numbered GROUP BY merchant_id, place ORDER BY merchant_id, place
          LOOP
            PERFORM ${names.id('record_states')}(part.merchant_id, ${sql.lit(table)}, part.ids);
          END LOOP;
        END $$`.execute(db)
    }
  },
  // What was recorded goes with its table, by 0115.
  async down() {},
})
