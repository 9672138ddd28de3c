// Why: fees and the worth of a reversal follow from a capture's own figures; every posting function asks these two.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createFees: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // p_kind: capture, refund or dispute. p_gross and both answers are minor units of p_currency, the merchant's. A kind
    // without a price is free; flat is NULL when its currency has no rate.
    await sql`
      CREATE FUNCTION ${names.id('operation_fee')}(
        p_kind text, p_gross bigint, p_pricing jsonb, p_currency text, p_date date
      ) RETURNS TABLE (flat bigint, rate bigint) LANGUAGE sql STABLE AS $$
        SELECT
          CASE WHEN price.flat IS NULL THEN 0 ELSE (
            SELECT e.amount FROM ${names.id('exchange')}(
              (price.flat ->> 'amount')::bigint, price.flat ->> 'currency', p_currency, p_date, 0
            ) e
          ) END,
          CASE p_kind WHEN 'capture'
            THEN ${names.id('round_half_even')}(p_gross * (p_pricing ->> 'rate')::numeric, 10000) ELSE 0 END
        FROM (SELECT p_pricing -> CASE p_kind WHEN 'capture' THEN 'flat' ELSE p_kind END) AS price (flat)
      $$`.execute(db)
    // What the first p_amount minor units of a transaction's captures brought, in the merchant's currency: all of each
    // capture that they cover, and of the next its share. A reversal of x after X is worth f(X + x) - f(X).
    await sql`
      CREATE FUNCTION ${names.id('captured_value')}(p_amounts bigint[], p_grosses bigint[], p_amount bigint)
      RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT coalesce(sum(
          CASE WHEN before + amount <= p_amount THEN gross
            ELSE ${names.id('round_half_even')}((p_amount - before) * gross::numeric, amount) END
        ), 0)::bigint
        FROM (
          SELECT amount, gross, sum(amount) OVER (ORDER BY nth) - amount AS before
          FROM unnest(p_amounts, p_grosses) WITH ORDINALITY AS capture (amount, gross, nth)
        ) captures
        WHERE before < p_amount
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('captured_value')}(bigint[], bigint[], bigint)`.execute(db)
    await sql`DROP FUNCTION ${names.id('operation_fee')}(text, bigint, jsonb, text, date)`.execute(db)
  },
})
