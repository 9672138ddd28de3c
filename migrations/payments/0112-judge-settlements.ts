// Why: an acquirer's settlement was booked whatever it said: any three letters as a currency, any sign, any amount.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const judgeSettlements: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // What the scheme owes for a merchant's captures in a currency, less refunds and what was settled. Sums go on from the last
    // snapshot.
    await sql`
      CREATE FUNCTION ${names.id('scheme_receivable')}(p_merchant_id text, p_currency text) RETURNS numeric
      LANGUAGE sql STABLE AS $$
        SELECT -(coalesce(snapshot.sum, 0) + coalesce((
          SELECT sum(e.amount) FROM ${names.id('entries')} e
          WHERE e.merchant_id = p_merchant_id AND e.account = 'scheme_receivable' AND e.currency = p_currency AND NOT e.test
            AND (snapshot.next_id IS NULL OR e.journal_id >= snapshot.next_id)
        ), 0))
        FROM (SELECT) one
        LEFT JOIN LATERAL (
          SELECT s.sum, ${names.id('first_id')}((s.date + 1) AT TIME ZONE 'UTC') AS next_id
          FROM ${names.id('account_snapshots')} s
          WHERE s.merchant_id = p_merchant_id AND s.account = 'scheme_receivable' AND s.currency = p_currency AND NOT s.test
          ORDER BY s.date DESC LIMIT 1
        ) snapshot ON true
      $$`.execute(db)
    // How far settlements and reversals have gone: what an acquirer takes back was settled before, or is a refund.
    await sql`
      CREATE FUNCTION ${names.id('scheme_returnable')}(p_merchant_id text, p_currency text) RETURNS numeric
      LANGUAGE sql STABLE AS $$
        SELECT coalesce(sum(e.amount), 0) FROM ${names.id('entries')} e
        JOIN ${names.id('journals')} j ON j.merchant_id = e.merchant_id AND j.id = e.journal_id
        WHERE e.merchant_id = p_merchant_id AND e.account = 'scheme_receivable' AND e.currency = p_currency AND NOT e.test
          AND j.kind IN ('schemeSettled', 'refund', 'dispute')
      $$`.execute(db)
    // Books a settlement, once for each reference, or says why it cannot be right. Judged under the merchant's lock.
    await sql`
      CREATE FUNCTION ${names.id('scheme_settle')}(
        p_merchant_id text, p_acquirer text, p_currency text, p_amount bigint, p_ref text
      ) RETURNS text LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
      DECLARE
        merchant ${names.id('merchants')};
      BEGIN
        SELECT m.* INTO merchant FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id;
        IF merchant.id IS NULL THEN RETURN 'unknown-merchant'; END IF;
        IF merchant.test THEN RETURN 'test-merchant'; END IF;
        IF merchant.acquirer IS DISTINCT FROM p_acquirer THEN
          PERFORM FROM ${names.id('transactions')} t WHERE t.merchant_id = merchant.id AND t.acquirer = p_acquirer LIMIT 1;
          IF NOT FOUND THEN RETURN 'other-acquirer'; END IF;
        END IF;
        IF ${names.id('currency_exponent')}(p_currency) IS NULL THEN RETURN 'unknown-currency'; END IF;
        PERFORM FROM ${names.id('merchant_balances')} b WHERE b.merchant_id = merchant.id FOR UPDATE;
        PERFORM FROM ${names.id('journals')} j
          WHERE j.merchant_id = merchant.id AND j.kind = 'schemeSettled' AND j.cause_id = p_ref;
        IF FOUND THEN RETURN 'repeated'; END IF;
        IF p_amount = 0 THEN RETURN 'nothing'; END IF;
        IF p_amount > 0 AND p_amount > ${names.id('scheme_receivable')}(merchant.id, p_currency) THEN RETURN 'too-much'; END IF;
        IF p_amount < 0 AND -p_amount > ${names.id('scheme_returnable')}(merchant.id, p_currency) THEN
          RETURN 'too-much-back';
        END IF;
        PERFORM ${names.id('settle_scheme')}(merchant.id, p_currency, p_amount, p_ref);
        RETURN 'done';
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('scheme_settle')}(text, text, text, bigint, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('scheme_returnable')}(text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('scheme_receivable')}(text, text)`.execute(db)
  },
})
