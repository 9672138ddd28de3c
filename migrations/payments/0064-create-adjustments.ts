// Why: what neither a card nor a bank does to a balance, an operator books; and test merchants may let time pass.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

/** 100 years in seconds: a clock that runs further ahead would leave what ids and dates can hold. */
const OFFSET_MAX = sql.lit(100 * 365 * 86_400)

export const createAdjustments: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // No row when there is no such merchant.
    await sql`
      CREATE FUNCTION ${names.id('adjust')}(p_merchant_id text, p_amount bigint, p_text text)
      RETURNS TABLE (line_id text, balance bigint) LANGUAGE plpgsql VOLATILE AS $$
      #variable_conflict use_variable
      BEGIN
        PERFORM FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id;
        IF NOT FOUND THEN RETURN; END IF;
        SELECT p.line_id, p.balance_after INTO line_id, balance FROM ${names.id('post')}(ARRAY[
          ${names.id('balance_movement')}(p_merchant_id, 'adjustment', p_amount, NULL, p_text)
        ]) p;
        PERFORM ${names.id('add_audit')}(
          p_merchant_id, NULL, 'balance.adjusted', jsonb_build_object('lineId', line_id, 'amount', p_amount)
        );
        RETURN NEXT;
      END $$`.execute(db)
    // What the acquirer has paid for captures, less refunds: once for each of its references, true for the first time. NULL
    // when there is no such merchant.
    await sql`
      CREATE FUNCTION ${names.id('settle_scheme')}(p_merchant_id text, p_currency text, p_amount bigint, p_ref text)
      RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
      DECLARE
        moved ${names.id('movement')} := ${names.id('balance_movement')}(p_merchant_id, 'schemeSettled', 0, p_ref, NULL);
      BEGIN
        PERFORM FROM ${names.id('merchant_balances')} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
        IF NOT FOUND THEN RETURN NULL; END IF;
        PERFORM FROM ${names.id('journals')} j
          WHERE j.merchant_id = p_merchant_id AND j.kind = 'schemeSettled' AND j.cause_id = p_ref;
        IF FOUND THEN RETURN false; END IF;
        moved.currency := p_currency;
        moved.amount := p_amount;
        PERFORM ${names.id('post')}(ARRAY[moved]);
        RETURN true;
      END $$`.execute(db)
    // p_seconds: NULL when only access is to be checked. moment: what the clock then says, also of a replayed answer.
    await sql`
      CREATE FUNCTION ${names.id('clock_advance')}(p_caller ${names.id('caller')}, p_merchant_id text, p_seconds bigint)
      RETURNS TABLE (verdict text, identity_id text, moment timestamptz) LANGUAGE plpgsql VOLATILE AS $$
      #variable_conflict use_variable
      DECLARE
        claimed record;
      BEGIN
        SELECT j.verdict, j.identity_id INTO verdict, identity_id
          FROM ${names.id('judge_test_access')}(
            p_caller, (SELECT m.id FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id)
          ) j;
        IF verdict <> 'done' OR p_seconds IS NULL THEN RETURN NEXT; RETURN; END IF;
        claimed := ${names.id('claim_key')}(p_caller, p_merchant_id, identity_id);
        IF claimed.verdict <> 'claimed' THEN
          verdict := claimed.verdict;
          moment := (claimed.held).body::timestamptz;
          RETURN NEXT; RETURN;
        END IF;
        UPDATE ${names.id('merchant_balances')} b SET clock_offset = b.clock_offset + p_seconds
          WHERE b.merchant_id = p_merchant_id AND b.clock_offset + p_seconds <= ${OFFSET_MAX};
        IF FOUND THEN
          moment := ${names.id('merchant_now')}(p_merchant_id);
          PERFORM ${names.id('finish_key')}(p_caller, p_merchant_id, identity_id, 201, NULL, NULL, moment::text);
        ELSE
          verdict := 'limit-exceeded';
          PERFORM ${names.id('release_key')}(p_caller, p_merchant_id, identity_id);
        END IF;
        RETURN NEXT;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('clock_advance')}(${names.id('caller')}, text, bigint)`.execute(db)
    await sql`DROP FUNCTION ${names.id('settle_scheme')}(text, text, bigint, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('adjust')}(text, bigint, text)`.execute(db)
  },
})
