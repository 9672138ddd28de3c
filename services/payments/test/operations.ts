import { sql } from 'kysely'
import type { TestPayments } from './payments-app.ts'

/** Captures part of a transaction. */
export async function capture({ database }: Pick<TestPayments, 'database'>, id: string, amount: number): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    await sql`
      UPDATE ${sql.table('transactions')} SET pending = pending - ${amount}, captured = captured + ${amount},
        trail_length = trail_length + 1 WHERE id = ${id}`.execute(trx)
    await sql`
      SELECT p.* FROM ${sql.table('transactions')} t
      JOIN ${sql.table('merchants')} m ON m.id = t.merchant_id
      CROSS JOIN LATERAL ${sql.table('exchange')}(${amount}, t.currency, m.currency, current_date, 0) x
      CROSS JOIN LATERAL ${sql.table('operation_fee')}('capture', x.amount, m.pricing, m.currency, current_date) f
      CROSS JOIN LATERAL ${sql.table('post')}(ARRAY[ROW(t.merchant_id, 'capture', t.test, ${amount}, t.currency, x.amount,
        f.flat, f.rate, x.rate, x.rate_date, t.id, t.trail_length, t.descriptor, NULL, NULL, NULL, NULL, t.pending,
        t.captured, t.refunded, t.voided, t.disputed)::${sql.table('movement')}]) p
      WHERE t.id = ${id}`.execute(trx)
  })
}
