// Why: a dispute reserves captured money when it opens, and takes it when it is lost; both under the transaction's lock.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/**
 * The merchant of an object below it, and whether the caller may act on it: a member, of a test merchant. Without a caller
 * the act is an operator's or the acquirer's own.
 */
async function createJudgeTest(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('judge_test_access')}(
      p_caller ${names.id('caller')}, p_merchant_id text, OUT verdict text, OUT identity_id text
    ) LANGUAGE plpgsql STABLE AS $$
    #variable_conflict use_variable
    BEGIN
      verdict := CASE WHEN p_merchant_id IS NULL THEN 'not-found' ELSE 'done' END;
      IF p_caller IS NULL THEN RETURN; END IF;
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
      PERFORM FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id AND m.test;
      IF verdict = 'done' AND NOT FOUND THEN verdict := 'forbidden'; END IF;
    END $$`.execute(db)
}

/** What the captures of a transaction brought, from so many minor units that are reversed on so many more. */
async function createReversalGross(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('reversal_gross')}(
      p_merchant_id text, p_transaction_id text, p_reversed bigint, p_amount bigint
    ) RETURNS bigint LANGUAGE sql STABLE AS $$
      SELECT ${names.id('captured_value')}(c.amounts, c.grosses, p_reversed + p_amount)
        - ${names.id('captured_value')}(c.amounts, c.grosses, p_reversed)
      FROM (
        SELECT array_agg(e.amount ORDER BY e.seq) AS amounts, array_agg(e.gross ORDER BY e.seq) AS grosses
        FROM ${names.id('trail_entries')} e
        WHERE e.merchant_id = p_merchant_id AND e.transaction_id = p_transaction_id AND e.kind = 'capture'
      ) c
    $$`.execute(db)
}

/**
 * Opens a dispute, once for each reference of the acquirer. p_dispute: NULL when only access is to be checked.
 * `limit-exceeded` carries what could be disputed.
 */
async function createOpen(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('dispute_open')}(p_caller ${names.id('caller')}, p_transaction_id text, p_dispute jsonb)
    RETURNS TABLE (
      verdict text, identity_id text, possible bigint, currency text, dispute ${names.id('disputes')}
    ) LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      held ${names.id('transactions')};
      merchant text;
      claimed record;
      ids record;
      due date;
    BEGIN
      SELECT t.merchant_id INTO merchant FROM ${names.id('owners')}(p_transaction_id) o
        JOIN ${names.id('transactions')} t ON t.merchant_id = o.merchant_id AND t.id = p_transaction_id;
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_test_access')}(p_caller, merchant) j;
      IF verdict <> 'done' OR p_dispute IS NULL THEN RETURN NEXT; RETURN; END IF;
      SELECT t.* INTO held FROM ${names.id('transactions')} t
        WHERE t.merchant_id = merchant AND t.id = p_transaction_id FOR UPDATE;
      claimed := ${names.id('claim_key')}(p_caller, merchant, identity_id);
      SELECT d.* INTO dispute FROM ${names.id('disputes')} d
        WHERE d.merchant_id = merchant
          AND (d.id = (claimed.held).object_id OR d.acquirer_ref = p_dispute ->> 'acquirerRef');
      IF claimed.verdict <> 'claimed' THEN verdict := claimed.verdict; END IF;
      IF claimed.verdict <> 'claimed' OR dispute.id IS NOT NULL THEN RETURN NEXT; RETURN; END IF;
      currency := held.currency;
      possible := held.captured - held.refunded - held.disputed;
      dispute.amount := coalesce((p_dispute ->> 'amount')::bigint, possible);
      IF dispute.amount NOT BETWEEN 1 AND possible THEN
        verdict := 'limit-exceeded';
        PERFORM ${names.id('release_key')}(p_caller, merchant, identity_id);
        RETURN NEXT; RETURN;
      END IF;
      ids := ${names.id('take_ids')}(merchant, 2);
      due := (${names.id('merchant_now')}(merchant) AT TIME ZONE 'UTC')::date + 20;
      INSERT INTO ${names.id('disputes')} AS d (
        merchant_id, id, created, transaction_id, amount, currency, reason_code, reason_title, due, acquirer_ref
      ) VALUES (
        merchant, ${names.id('id_at')}(ids.first, ids.tag), ${names.id('created_at')}(ids.first), held.id,
        dispute.amount, held.currency, (p_dispute ->> 'reasonCode')::int, p_dispute ->> 'reasonTitle',
        (due + interval '1 day' - interval '1 millisecond') AT TIME ZONE 'UTC', p_dispute ->> 'acquirerRef'
      ) RETURNING d.* INTO dispute;
      UPDATE ${names.id('transactions')} t SET disputed = t.disputed + dispute.amount
        WHERE t.merchant_id = merchant AND t.id = held.id;
      PERFORM ${names.id('add_event')}(
        merchant, ${names.id('id_at')}(ids.first + 1, ids.tag), ${names.id('created_at')}(ids.first + 1),
        'dispute.opened', dispute.id, NULL
      );
      PERFORM ${names.id('finish_key')}(p_caller, merchant, identity_id, 201, dispute.id, NULL, NULL);
      RETURN NEXT;
    END $$`.execute(db)
}

/** What closing a dispute posts. p_held: the transaction as it was; p_after: as it is then. */
async function createMovement(db: Kysely<unknown>, names: Names): Promise<void> {
  const transactions = names.id('transactions')
  await sql`
    CREATE FUNCTION ${names.id('dispute_movement')}(
      p_held ${transactions}, p_after ${transactions}, p_dispute ${names.id('disputes')}, p_outcome text
    ) RETURNS ${names.id('movement')} LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
      moved ${names.id('movement')};
    BEGIN
      moved := jsonb_populate_record(NULL::${names.id('movement')}, to_jsonb(p_after));
      moved.kind := CASE p_outcome WHEN 'won' THEN 'disputeWon' ELSE 'disputeLost' END;
      moved.transaction_id := p_after.id;
      moved.dispute_id := p_dispute.id;
      moved.seq := p_after.trail_length;
      moved.amount := p_dispute.amount;
      moved.reference := NULL; moved.gross := 0; moved.fee_flat := 0; moved.fee_rate := 0;
      IF p_outcome = 'lost' THEN
        moved.gross := ${names.id('reversal_gross')}(
          p_held.merchant_id, p_held.id, p_held.refunded + p_held.lost, p_dispute.amount
        );
        SELECT f.flat, f.rate INTO moved.fee_flat, moved.fee_rate
          FROM ${names.id('merchants')} m, ${names.id('operation_fee')}(
            'dispute', moved.gross, m.pricing, m.currency, current_date
          ) f
          WHERE m.id = p_held.merchant_id;
      END IF;
      RETURN moved;
    END $$`.execute(db)
}

/**
 * Closes a dispute: won, its money is the merchant's again; lost, it is taken at the captures' own rates, with the fee.
 * The same outcome again changes nothing, the other is a conflict.
 */
async function createClose(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('dispute_close')}(p_caller ${names.id('caller')}, p_dispute_id text, p_outcome text)
    RETURNS TABLE (verdict text, identity_id text, dispute ${names.id('disputes')})
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      held ${names.id('transactions')};
      after ${names.id('transactions')};
      claimed record;
    BEGIN
      SELECT d.* INTO dispute FROM ${names.id('owners')}(p_dispute_id) o
        JOIN ${names.id('disputes')} d ON d.merchant_id = o.merchant_id AND d.id = p_dispute_id;
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_test_access')}(p_caller, dispute.merchant_id) j;
      IF verdict <> 'done' OR p_outcome IS NULL THEN RETURN NEXT; RETURN; END IF;
      SELECT t.* INTO held FROM ${names.id('transactions')} t
        WHERE t.merchant_id = dispute.merchant_id AND t.id = dispute.transaction_id FOR UPDATE;
      SELECT d.* INTO dispute FROM ${names.id('disputes')} d
        WHERE d.merchant_id = held.merchant_id AND d.id = p_dispute_id FOR UPDATE;
      claimed := ${names.id('claim_key')}(p_caller, held.merchant_id, identity_id);
      verdict := CASE
        WHEN claimed.verdict <> 'claimed' THEN claimed.verdict
        WHEN dispute.status NOT IN ('open', p_outcome) THEN 'conflict'
        WHEN dispute.status = 'open' AND held.trail_length >= 10000 THEN 'trail-full'
        ELSE 'done'
      END;
      IF verdict IN ('conflict', 'trail-full') THEN
        PERFORM ${names.id('release_key')}(p_caller, held.merchant_id, identity_id);
      END IF;
      IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
      PERFORM ${names.id('finish_key')}(p_caller, held.merchant_id, identity_id, 201, dispute.id, NULL, NULL);
      IF dispute.status = p_outcome THEN RETURN NEXT; RETURN; END IF;
      UPDATE ${names.id('transactions')} t SET
          disputed = t.disputed - CASE p_outcome WHEN 'won' THEN dispute.amount ELSE 0 END,
          lost = t.lost + CASE p_outcome WHEN 'lost' THEN dispute.amount ELSE 0 END,
          trail_length = t.trail_length + 1
        WHERE t.merchant_id = held.merchant_id AND t.id = held.id RETURNING t.* INTO after;
      PERFORM ${names.id('post')}(ARRAY[${names.id('dispute_movement')}(held, after, dispute, p_outcome)]);
      UPDATE ${names.id('disputes')} d SET
          status = p_outcome, resolved = date_trunc('milliseconds', clock_timestamp())
        WHERE d.merchant_id = held.merchant_id AND d.id = dispute.id RETURNING d.* INTO dispute;
      RETURN NEXT;
    END $$`.execute(db)
}

/** Keeps a report of fraud, once for each reference of the acquirer. p_fraud: NULL when only access is to be checked. */
async function createFraudAdd(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('fraud_add')}(p_caller ${names.id('caller')}, p_transaction_id text, p_fraud jsonb)
    RETURNS TABLE (verdict text, identity_id text, fraud ${names.id('frauds')})
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      merchant text;
      claimed record;
      ids record;
    BEGIN
      SELECT t.merchant_id INTO merchant FROM ${names.id('owners')}(p_transaction_id) o
        JOIN ${names.id('transactions')} t ON t.merchant_id = o.merchant_id AND t.id = p_transaction_id;
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_test_access')}(p_caller, merchant) j;
      IF verdict <> 'done' OR p_fraud IS NULL THEN RETURN NEXT; RETURN; END IF;
      claimed := ${names.id('claim_key')}(p_caller, merchant, identity_id);
      -- The merchant's lock, so that of two reports with one reference the second sees the first.
      ids := ${names.id('take_ids')}(merchant, 2);
      SELECT f.* INTO fraud FROM ${names.id('frauds')} f
        WHERE f.merchant_id = merchant
          AND (f.id = (claimed.held).object_id OR f.acquirer_ref = p_fraud ->> 'acquirerRef');
      IF claimed.verdict <> 'claimed' THEN verdict := claimed.verdict; END IF;
      IF claimed.verdict <> 'claimed' OR fraud.id IS NOT NULL THEN RETURN NEXT; RETURN; END IF;
      INSERT INTO ${names.id('frauds')} AS f (merchant_id, id, created, transaction_id, reported, reason, acquirer_ref)
        VALUES (
          merchant, ${names.id('id_at')}(ids.first, ids.tag), ${names.id('created_at')}(ids.first), p_transaction_id,
          (p_fraud ->> 'reported')::timestamptz, (p_fraud ->> 'reason')::int, p_fraud ->> 'acquirerRef'
        ) RETURNING f.* INTO fraud;
      PERFORM ${names.id('add_event')}(
        merchant, ${names.id('id_at')}(ids.first + 1, ids.tag), ${names.id('created_at')}(ids.first + 1),
        'fraud.created', fraud.id, NULL
      );
      PERFORM ${names.id('finish_key')}(p_caller, merchant, identity_id, 201, fraud.id, NULL, NULL);
      RETURN NEXT;
    END $$`.execute(db)
}

export const createDisputes: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createJudgeTest(db, names)
    await createReversalGross(db, names)
    await createOpen(db, names)
    await createMovement(db, names)
    await createClose(db, names)
    await createFraudAdd(db, names)
  },
  async down(db: Kysely<unknown>) {
    const [caller, transactions] = [names.id('caller'), names.id('transactions')]
    await sql`DROP FUNCTION ${names.id('fraud_add')}(${caller}, text, jsonb)`.execute(db)
    await sql`DROP FUNCTION ${names.id('dispute_close')}(${caller}, text, text)`.execute(db)
    await sql`
      DROP FUNCTION ${names.id('dispute_movement')}(${transactions}, ${transactions}, ${names.id('disputes')}, text)
    `.execute(db)
    await sql`DROP FUNCTION ${names.id('dispute_open')}(${caller}, text, jsonb)`.execute(db)
    await sql`DROP FUNCTION ${names.id('reversal_gross')}(text, text, bigint, bigint)`.execute(db)
    await sql`DROP FUNCTION ${names.id('judge_test_access')}(${caller}, text)`.execute(db)
  },
})
