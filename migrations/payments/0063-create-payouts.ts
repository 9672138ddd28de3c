// Why: a payout empties what is available of a balance, once a day, and never what an open dispute may take back.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/** What is in the balance and not available: what open disputes would take, and captures that are too young. */
async function createHeldBack(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE INDEX ${names.local('disputes_open_ix')} ON ${names.id('disputes')} (merchant_id, transaction_id)
      WHERE status = 'open'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('payouts_waiting_ix')} ON ${names.id('payouts')} (merchant_id, id)
      WHERE status IN ('created', 'exported')`.execute(db)
  await sql`
    CREATE FUNCTION ${names.id('dispute_reserve')}(p_merchant_id text) RETURNS bigint LANGUAGE sql STABLE AS $$
      SELECT coalesce(sum(${names.id('reversal_gross')}(
        t.merchant_id, t.id, t.refunded + t.lost, t.disputed - t.lost
      )), 0)::bigint
      FROM (
        SELECT DISTINCT d.transaction_id FROM ${names.id('disputes')} d
        WHERE d.merchant_id = p_merchant_id AND d.status = 'open'
      ) open
      JOIN ${names.id('transactions')} t ON t.merchant_id = p_merchant_id AND t.id = open.transaction_id
    $$`.execute(db)
  // Ids carry their time, so the primary key finds the young lines.
  await sql`
    CREATE FUNCTION ${names.id('not_yet_due')}(p_merchant_id text, p_since timestamptz) RETURNS bigint
    LANGUAGE sql STABLE AS $$
      SELECT coalesce(sum(l.balance), 0)::bigint FROM ${names.id('lines')} l
      WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture'
        AND l.id >= ${names.id('id_at')}(
          greatest(floor(extract(epoch FROM p_since) * 1000)::bigint * 1048576, 0), '00000000'
        )
    $$`.execute(db)
}

/** A movement of the merchant's balance alone, in its own currency. */
async function createBalanceMovement(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('balance_movement')}(
      p_merchant_id text, p_kind text, p_gross bigint, p_cause_id text, p_description text
    ) RETURNS ${names.id('movement')} LANGUAGE sql STABLE AS $$
      SELECT jsonb_populate_record(NULL::${names.id('movement')}, jsonb_build_object(
        'merchant_id', m.id, 'kind', p_kind, 'test', m.test, 'gross', p_gross, 'fee_flat', 0, 'fee_rate', 0,
        'cause_id', p_cause_id, 'description', p_description
      ))
      FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id
    $$`.execute(db)
}

/**
 * Pays out all that is available, at most once a UTC day of the merchant's clock: the same day's payout is answered again.
 * p_minimum: in major units. Test payouts are settled at once. `skipped` carries the reason.
 */
async function createPayout(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('payout')}(
      p_caller ${names.id('caller')}, p_merchant_id text, p_minimum int, p_delay_days int
    ) RETURNS TABLE (verdict text, identity_id text, reason text, payout ${names.id('payouts')})
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      merchant ${names.id('merchants')};
      claimed record;
      moment timestamptz;
      ids record;
      available bigint;
    BEGIN
      SELECT m.* INTO merchant FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id;
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_test_access')}(p_caller, merchant.id) j;
      IF verdict <> 'done' OR p_minimum IS NULL THEN RETURN NEXT; RETURN; END IF;
      claimed := ${names.id('claim_key')}(p_caller, merchant.id, identity_id);
      ids := ${names.id('take_ids')}(merchant.id, 1);
      moment := ${names.id('merchant_now')}(merchant.id);
      SELECT p.* INTO payout FROM ${names.id('payouts')} p
        WHERE p.merchant_id = merchant.id AND p.test = merchant.test
          AND (p.id = (claimed.held).object_id OR p.date = (moment AT TIME ZONE 'UTC')::date);
      IF claimed.verdict <> 'claimed' THEN verdict := claimed.verdict; RETURN NEXT; RETURN; END IF;
      IF payout.id IS NULL THEN
        SELECT b.balance - ${names.id('dispute_reserve')}(merchant.id)
            - ${names.id('not_yet_due')}(merchant.id, moment - p_delay_days * interval '1 day') INTO available
          FROM ${names.id('merchant_balances')} b WHERE b.merchant_id = merchant.id;
        reason := CASE
          WHEN available < 0 THEN 'negative'
          WHEN available = 0 OR available < p_minimum * ('1e' || ${names.id('currency_exponent')}(merchant.currency))::numeric
            THEN 'below_minimum'
          WHEN merchant.iban IS NULL THEN 'no_iban'
        END;
        IF reason IS NOT NULL THEN
          verdict := 'skipped';
          PERFORM ${names.id('release_key')}(p_caller, merchant.id, identity_id);
          RETURN NEXT; RETURN;
        END IF;
        payout := ${names.id('post_payout')}(merchant, ${names.id('id_at')}(ids.first, ids.tag),
          ${names.id('created_at')}(ids.first), (moment AT TIME ZONE 'UTC')::date, available);
      END IF;
      PERFORM ${names.id('finish_key')}(p_caller, merchant.id, identity_id, 201, payout.id, NULL, NULL);
      RETURN NEXT;
    END $$`.execute(db)
}

async function createPostPayout(db: Kysely<unknown>, names: Names): Promise<void> {
  const movement = names.id('balance_movement')
  await sql`
    CREATE FUNCTION ${names.id('post_payout')}(
      p_merchant ${names.id('merchants')}, p_id text, p_created timestamptz, p_date date, p_amount bigint
    ) RETURNS ${names.id('payouts')} LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
      posted record;
      made ${names.id('payouts')};
    BEGIN
      SELECT p.* INTO posted
        FROM ${names.id('post')}(ARRAY[${movement}(p_merchant.id, 'payout', p_amount, p_id, NULL)]) p;
      IF p_merchant.test THEN
        PERFORM ${names.id('post')}(ARRAY[${movement}(p_merchant.id, 'payoutSettled', p_amount, p_id, NULL)]);
      END IF;
      INSERT INTO ${names.id('payouts')} AS p
        (merchant_id, id, created, date, test, amount, currency, iban, status, line_id)
        VALUES (p_merchant.id, p_id, p_created, p_date, p_merchant.test, p_amount, p_merchant.currency, p_merchant.iban,
          CASE WHEN p_merchant.test THEN 'settled' ELSE 'created' END, posted.line_id)
        RETURNING p.* INTO made;
      RETURN made;
    END $$`.execute(db)
}

/** Moves a payout on: settled, or failed, which gives the money back. The same again changes nothing. */
async function createPayoutClose(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('payout_close')}(p_payout_id text, p_status text)
    RETURNS TABLE (verdict text, payout ${names.id('payouts')}) LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    BEGIN
      SELECT p.* INTO payout FROM ${names.id('owners')}(p_payout_id) o
        JOIN ${names.id('payouts')} p ON p.merchant_id = o.merchant_id AND p.id = p_payout_id;
      IF payout.id IS NULL THEN verdict := 'not-found'; RETURN NEXT; RETURN; END IF;
      SELECT p.* INTO payout FROM ${names.id('payouts')} p
        WHERE p.merchant_id = payout.merchant_id AND p.id = p_payout_id FOR UPDATE;
      verdict := CASE WHEN payout.status IN ('created', 'exported', p_status) THEN 'done' ELSE 'conflict' END;
      IF payout.status IN ('created', 'exported') THEN
        PERFORM ${names.id('post')}(ARRAY[${names.id('balance_movement')}(
          payout.merchant_id, CASE p_status WHEN 'settled' THEN 'payoutSettled' ELSE 'payoutReversal' END,
          payout.amount, payout.id, NULL
        )]);
        UPDATE ${names.id('payouts')} p SET status = p_status
          WHERE p.merchant_id = payout.merchant_id AND p.id = payout.id RETURNING p.* INTO payout;
        PERFORM ${names.id('add_audit')}(
          payout.merchant_id, NULL, 'payout.' || p_status, jsonb_build_object('payoutId', payout.id)
        );
      END IF;
      RETURN NEXT;
    END $$`.execute(db)
}

export const createPayouts: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createHeldBack(db, names)
    await createBalanceMovement(db, names)
    await createPostPayout(db, names)
    await createPayout(db, names)
    await createPayoutClose(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('payout_close')}(text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('payout')}(${names.id('caller')}, text, int, int)`.execute(db)
    await sql`
      DROP FUNCTION ${names.id('post_payout')}(${names.id('merchants')}, text, timestamptz, date, bigint)`.execute(db)
    await sql`DROP FUNCTION ${names.id('balance_movement')}(text, text, bigint, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('not_yet_due')}(text, timestamptz)`.execute(db)
    await sql`DROP FUNCTION ${names.id('dispute_reserve')}(text)`.execute(db)
    await sql`DROP INDEX ${names.id('payouts_waiting_ix')}, ${names.id('disputes_open_ix')}`.execute(db)
  },
})
