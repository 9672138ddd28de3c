// Why: a charge is decided before an acquirer is asked and written down after it has answered; no lock is held in between.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/**
 * Who authorized a transaction moves its money and reports on it, whoever the merchant is with since; NULL is the simulator.
 * What an acquirer reports names a transaction by the acquirer's own reference.
 */
async function addAcquirer(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`ALTER TABLE ${names.id('transactions')} ADD COLUMN acquirer text`.execute(db)
  await sql`
    CREATE INDEX ${names.local('transactions_acquirer_ix')} ON ${names.id('transactions')} (merchant_id, acquirer_ref)
      WHERE acquirer IS NOT NULL`.execute(db)
  await sql`
    ALTER TABLE ${names.id('instruments')} ADD COLUMN planned boolean NOT NULL DEFAULT false`.execute(db)
  await sql`
    COMMENT ON COLUMN ${names.id('instruments')}.planned IS 'whether its first payment announced a plan'`.execute(db)
}

/** Test merchants may let time pass: everything that falls due for a merchant is judged by this clock. */
async function createClock(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('merchant_now')}(p_merchant_id text) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
      SELECT date_trunc('milliseconds', clock_timestamp()) + b.clock_offset * interval '1 second'
      FROM ${names.id('merchant_balances')} b WHERE b.merchant_id = p_merchant_id
    $$`.execute(db)
}

/** What a charge goes back to: a successful transaction of the merchant, by its own id or by that of a card that is kept. */
async function createChargeSource(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('charge_source')}(p_merchant_id text, p_transaction_id text, p_card_id text)
    RETURNS TABLE (transaction_id text, instrument ${names.id('instruments')}) LANGUAGE sql STABLE AS $$
      SELECT source.id, i FROM (
        SELECT t.id, t.instrument_id FROM ${names.id('transactions')} t
        WHERE t.merchant_id = p_merchant_id AND t.id = p_transaction_id AND t.successful
        UNION ALL
        SELECT c.transaction_id, c.instrument_id FROM ${names.id('cards')} c
        WHERE c.merchant_id = p_merchant_id AND c.id = p_card_id AND c.deleted IS NULL
      ) source
      JOIN ${names.id('instruments')} i ON i.merchant_id = p_merchant_id AND i.id = source.instrument_id
    $$`.execute(db)
}

/**
 * Judges a charge and writes the attempt, which the acquirer is then asked under. A charge that is refused here reaches no
 * acquirer and leaves nothing but the memory of its key.
 */
async function createBegin(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('charge_begin')}(
      p_caller ${names.id('caller')}, p_merchant_id text, p_charge jsonb, p_acquirers text[]
    ) RETURNS TABLE (
      verdict text, identity_id text, transaction_id text, error_code int, attempt_id text, descriptor text,
      acquirer text, expired boolean, instrument ${names.id('instruments')}
    ) LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      merchant ${names.id('merchants')};
      claimed record;
      source record;
      made record;
    BEGIN
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
      IF verdict <> 'done' OR p_charge IS NULL THEN RETURN NEXT; RETURN; END IF;
      claimed := ${names.id('claim_key')}(p_caller, p_merchant_id, identity_id);
      IF claimed.verdict <> 'claimed' THEN
        verdict := claimed.verdict;
        transaction_id := (claimed.held).object_id;
        error_code := (claimed.held).error_code;
        RETURN NEXT; RETURN;
      END IF;
      SELECT m.* INTO merchant FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id;
      SELECT s.* INTO source FROM ${names.id('charge_source')}(
        p_merchant_id, p_charge ->> 'transactionId', p_charge ->> 'cardId'
      ) s;
      instrument := source.instrument;
      PERFORM FROM ${names.id('exchange')}(1, p_charge ->> 'currency', merchant.currency, current_date, 0);
      verdict := CASE
        WHEN instrument.id IS NULL THEN 'unknown-source'
        WHEN NOT FOUND THEN 'no-rate'
        WHEN NOT (merchant.claim ->> 'canChargeCard')::boolean THEN 'refused'
        WHEN NOT merchant.test AND NOT coalesce(merchant.acquirer = ANY (p_acquirers), false) THEN 'refused'
        ELSE 'done'
      END;
      IF verdict = 'refused' THEN
        error_code := 27;
        PERFORM ${names.id('finish_key')}(p_caller, p_merchant_id, identity_id, 400, NULL, error_code, NULL);
      ELSIF verdict <> 'done' THEN
        PERFORM ${names.id('release_key')}(p_caller, p_merchant_id, identity_id);
      END IF;
      IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
      descriptor := coalesce(p_charge ->> 'descriptor', merchant.descriptor);
      acquirer := CASE WHEN NOT merchant.test THEN merchant.acquirer END;
      expired := instrument.expiry < (${names.id('merchant_now')}(p_merchant_id) AT TIME ZONE 'UTC')::date;
      made := ${names.id('new_id')}(merchant.tag);
      attempt_id := made.id;
      INSERT INTO ${names.id('attempts')} (merchant_id, id, created, kind, request) VALUES (
        p_merchant_id, made.id, made.created, 'charge', p_charge || jsonb_build_object(
          'sourceId', source.transaction_id, 'descriptor', descriptor, 'acquirer', acquirer, 'instrumentId', instrument.id, 'test', merchant.test,
          'identityId', identity_id, 'method', p_caller.method, 'path', p_caller.path, 'key', p_caller.key
        )
      );
      RETURN NEXT;
    END $$`.execute(db)
}

/**
 * Writes the transaction that an attempt became, under the merchant's lock: its id, its event and, where the card's scenario
 * says so, the report of fraud. p_error_code: NULL for a successful one.
 */
async function createRecord(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('record_authorization')}(
      p_merchant_id text, p_transaction jsonb, p_error_code int, p_acquirer_ref text
    ) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
      ids record := ${names.id('take_ids')}(p_merchant_id, 4);
      new_id text := ${names.id('id_at')}(ids.first, ids.tag);
      approved boolean := p_error_code IS NULL;
    BEGIN
      INSERT INTO ${names.id('transactions')} (
        merchant_id, id, created, instrument_id, source_id, test, currency, amount, descriptor, reference, pending,
        custom, tds, recurring, successful, error_code, plan, unplanned, code_present, session_id, acquirer,
        acquirer_ref
      )
      SELECT p_merchant_id, new_id, ${names.id('created_at')}(ids.first), v."instrumentId", v."sourceId", v.test, v.currency, v.amount,
        v.descriptor, v.reference, CASE WHEN approved THEN v.amount ELSE 0 END,
        v.custom, v.tds, v.recurring, approved, p_error_code, v.plan, v.unplanned, v."codePresent", v."sessionId",
        v.acquirer, p_acquirer_ref
      FROM jsonb_to_record(p_transaction) AS v(
        "instrumentId" text, "sourceId" text, test boolean, currency text, amount bigint, descriptor text,
        reference text, custom jsonb, tds text, recurring boolean, plan jsonb, unplanned jsonb, "codePresent" boolean,
        "sessionId" text, acquirer text
      );
      PERFORM ${names.id('add_event')}(
        p_merchant_id, ${names.id('id_at')}(ids.first + 1, ids.tag), ${names.id('created_at')}(ids.first + 1),
        CASE WHEN approved THEN 'transaction.created' ELSE 'transaction.failed' END, new_id, NULL
      );
      IF approved THEN
        INSERT INTO ${names.id('frauds')} (merchant_id, id, created, transaction_id, reason)
          SELECT p_merchant_id, ${names.id('id_at')}(ids.first + 2, ids.tag), ${names.id('created_at')}(ids.first + 2),
            new_id, 1
          FROM ${names.id('instruments')} i
          WHERE i.merchant_id = p_merchant_id AND i.id = p_transaction ->> 'instrumentId'
            AND (i.scenario ->> 'fraud')::boolean;
        IF FOUND THEN
          PERFORM ${names.id('add_event')}(
            p_merchant_id, ${names.id('id_at')}(ids.first + 3, ids.tag), ${names.id('created_at')}(ids.first + 3),
            'fraud.created', ${names.id('id_at')}(ids.first + 2, ids.tag), NULL
          );
        END IF;
      END IF;
      RETURN new_id;
    END $$`.execute(db)
}

/**
 * Writes down what an attempt became, once. p_outcome: approved, declined (with the number of the processing error) or
 * unknown: then the caller is told 12 and a job finds out. `settled`: another process was first, with the outcome unknown.
 */
async function createFinish(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('charge_finish')}(
      p_merchant_id text, p_attempt_id text, p_outcome text, p_error_code int, p_acquirer_ref text
    ) RETURNS TABLE (verdict text, transaction_id text) LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      attempt ${names.id('attempts')};
      caller ${names.id('caller')};
    BEGIN
      SELECT a.* INTO STRICT attempt FROM ${names.id('attempts')} a
        WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id FOR UPDATE;
      IF attempt.status <> 'sent' THEN verdict := 'settled'; RETURN NEXT; RETURN; END IF;
      UPDATE ${names.id('attempts')} a SET status = p_outcome
        WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id;
      transaction_id := ${names.id('record_authorization')}(
        p_merchant_id, attempt.request || '{"recurring":true,"codePresent":false}', p_error_code, p_acquirer_ref
      );
      IF attempt.request ->> 'key' IS NOT NULL THEN
        caller := jsonb_populate_record(NULL::${names.id('caller')}, attempt.request);
        PERFORM ${names.id('finish_key')}(
          caller, p_merchant_id, attempt.request ->> 'identityId', CASE WHEN p_error_code IS NULL THEN 201 ELSE 400 END,
          CASE WHEN p_error_code IS NULL THEN transaction_id END, p_error_code, NULL
        );
      END IF;
      IF p_outcome = 'unknown' THEN
        PERFORM ${names.id('enqueue')}(p_merchant_id, p_attempt_id, 'inquiry', '{}');
      END IF;
      verdict := 'done';
      RETURN NEXT;
    END $$`.execute(db)
}

export const createCharges: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await addAcquirer(db, names)
    await createClock(db, names)
    await createChargeSource(db, names)
    await createBegin(db, names)
    await createRecord(db, names)
    await createFinish(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('charge_finish')}(text, text, text, int, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('record_authorization')}(text, jsonb, int, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('charge_begin')}(${names.id('caller')}, text, jsonb, text[])`.execute(db)
    await sql`DROP FUNCTION ${names.id('charge_source')}(text, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('merchant_now')}(text)`.execute(db)
    await sql`ALTER TABLE ${names.id('instruments')} DROP COLUMN planned`.execute(db)
    await sql`ALTER TABLE ${names.id('transactions')} DROP COLUMN acquirer`.execute(db)
  },
})
