// Why: each capture was rounded alone, so many small captures brought more than one large capture, and paid no fee by percentage.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { anySpacing, editFunction } from './edit-function.ts'

/** `move_many` appraises the first capture of a transaction as before: nothing was captured that it could go on from. */
function edit(names: Names) {
  const id = (name: string) => `"${names.schema}"."${names.prefix}${name}"`
  const alone = `fee_rate := ${id('round_half_even')}(gross * (i.pricing ->> 'rate')::numeric, 10000);`
  const next = `IF t.captured > 0 THEN
              SELECT n.gross, n.fee_rate, n.rate, n.rate_date INTO gross, fee_rate, rate, rate_date
                FROM ${id('next_capture')}(t, i.amount, i.own, today, p_margin_bps, (i.pricing ->> 'rate')::numeric) n;
            END IF;`
  return { before: alone, after: `${alone}\n            ${next}` }
}

export const telescopeCaptures: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // What a further capture of p_amount is worth in the merchant's currency: f(captured + x) - f(captured), of the captures at
    // the same rate. Its fee by p_bps goes on from the worth of all captures. A capture that the acquirer has rejected counts no
    // more, not even while a part of it is still owed: its fee was given back. No row where there is no rate.
    await sql`
      CREATE FUNCTION ${names.id('next_capture')}(
        p_held ${names.id('transactions')}, p_amount bigint, p_own text, p_day date, p_margin_bps int, p_bps numeric
      ) RETURNS TABLE (gross bigint, fee_rate bigint, rate text, rate_date date) LANGUAGE sql STABLE AS $$
        SELECT worth.gross,
          ${names.id('round_half_even')}((before.gross + worth.gross) * p_bps, 10000)
            - ${names.id('round_half_even')}(before.gross * p_bps, 10000),
          alone.rate, alone.rate_date
        FROM ${names.id('exchange')}(p_amount, p_held.currency, p_own, p_day, p_margin_bps) alone
        CROSS JOIN LATERAL (
          SELECT
            coalesce(sum(c.amount) FILTER (
              WHERE c.rate IS NOT DISTINCT FROM alone.rate AND c.rate_date IS NOT DISTINCT FROM alone.rate_date
            ), 0)::bigint AS amount,
            coalesce(sum(c.gross), 0) AS gross
          FROM (
            SELECT max(e.amount) AS amount, max(e.gross) AS gross, max(e.rate) AS rate, max(e.rate_date) AS rate_date
            FROM ${names.id('trail_entries')} e
            WHERE e.merchant_id = p_held.merchant_id AND e.transaction_id = p_held.id AND e.kind = 'capture'
            GROUP BY CASE WHEN e.amount < 0 THEN right(e.reference, 24) ELSE e.id END
            HAVING min(e.amount) > 0
          ) c
        ) before
        CROSS JOIN LATERAL (
          SELECT whole.amount - earlier.amount AS gross
          FROM ${names.id('exchange')}(before.amount + p_amount, p_held.currency, p_own, p_day, p_margin_bps) whole,
            ${names.id('exchange')}(before.amount, p_held.currency, p_own, p_day, p_margin_bps) earlier
        ) worth
      $$`.execute(db)
    const { before, after } = edit(names)
    await editFunction(db, names, { name: 'move_many', from: anySpacing(before), to: after })
  },
  async down(db: Kysely<unknown>) {
    const { before, after } = edit(names)
    await editFunction(db, names, { name: 'move_many', from: anySpacing(after), to: before })
    const types = sql`${names.id('transactions')}, bigint, text, date, int, numeric`
    await sql`DROP FUNCTION ${names.id('next_capture')}(${types})`.execute(db)
  },
})
