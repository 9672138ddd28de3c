// Why: a customer's payment goes through several requests; its session remembers how far it came, and ends in one transaction.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

const HOT = sql`LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off`

/**
 * `state` is the last step that was offered, `tds` what the card is enrolled in, `challenged` when its holder was first asked,
 * `outcome` what the holder's bank says. A session with an attempt is being paid. One with a transaction is over; then
 * `status_code` tells why it was refused.
 */
async function extendSessions(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    ALTER TABLE ${names.id('payment_sessions')}
      ADD COLUMN challenged timestamptz(3),
      ADD COLUMN outcome text,
      ADD COLUMN attempt_id text COLLATE "C",
      ADD COLUMN status_code text,
      ADD CONSTRAINT ${names.local('payment_sessions_outcome_ck')} CHECK (outcome IN (
        'authenticated', 'attempted', 'unavailable', 'rejected'
      ))`.execute(db)
}

/**
 * Claims what a payment may use once: its session, its Idempotency-Key, and its tokens, p_payment's member `tokens` ({jti,
 * expires}). Then writes the card, the member `instrument`, and the attempt, which an acquirer is asked under; the other
 * members are those of the transaction.
 *
 * Verdicts: `done` with an attempt; `finished` with what the session or the key has come to; `running` while another request
 * is at it; `spent` for tokens; `gone` when the session is over; `key-mismatch`.
 */
async function createBegin(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('payment_begin')}(
      p_caller ${names.id('caller')}, p_merchant_id text, p_session_id text, p_payment jsonb, p_pan_sealed bytea,
      p_pan_mac bytea
    ) RETURNS TABLE (verdict text, attempt_id text, transaction_id text, status_code text) ${HOT} AS $$
    #variable_conflict use_variable
    DECLARE
      session ${names.id('payment_sessions')};
      claimed record;
      made record;
    BEGIN
      verdict := 'done';
      IF p_session_id IS NOT NULL THEN
        SELECT s.* INTO session FROM ${names.id('payment_sessions')} s
          WHERE s.merchant_id = p_merchant_id AND s.id = p_session_id AND s.expires > clock_timestamp() FOR UPDATE;
        verdict := CASE
          WHEN session.id IS NULL THEN 'gone'
          WHEN session.transaction_id IS NOT NULL THEN 'finished'
          WHEN session.attempt_id IS NOT NULL THEN 'running'
          ELSE 'done'
        END;
        transaction_id := session.transaction_id;
        status_code := session.status_code;
        IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
      END IF;
      claimed := ${names.id('claim_key')}(p_caller, p_merchant_id, p_merchant_id);
      IF claimed.verdict <> 'claimed' THEN
        verdict := CASE claimed.verdict
          WHEN 'replayed' THEN 'finished' WHEN 'key-running' THEN 'running' ELSE claimed.verdict
        END;
        transaction_id := (claimed.held).object_id;
        status_code := (claimed.held).body;
        RETURN NEXT; RETURN;
      END IF;
      BEGIN
        INSERT INTO ${names.id('spent_tokens')} (merchant_id, jti, expires)
          SELECT p_merchant_id, t.jti, t.expires
          FROM jsonb_to_recordset(p_payment -> 'tokens') AS t(jti text, expires timestamptz) ORDER BY t.jti;
      EXCEPTION WHEN unique_violation THEN
        PERFORM ${names.id('release_key')}(p_caller, p_merchant_id, p_merchant_id);
        verdict := 'spent';
        RETURN NEXT; RETURN;
      END;
      SELECT n.* INTO made FROM ${names.id('new_id')}(right(p_payment #>> '{instrument,id}', 8)) n;
      attempt_id := made.id;
      INSERT INTO ${names.id('instruments')} (
        merchant_id, id, created, pan_sealed, key_id, pan_mac, bin, last4, expiry, scheme, scenario, planned
      )
      SELECT p_merchant_id, i.id, made.created, p_pan_sealed, i."keyId", p_pan_mac, i.bin, i.last4, i.expiry, i.scheme,
        i.scenario, i.planned
      FROM jsonb_to_record(p_payment -> 'instrument') AS i(
        id text, "keyId" smallint, bin text, last4 text, expiry date, scheme text, scenario jsonb, planned boolean
      );
      INSERT INTO ${names.id('attempts')} (merchant_id, id, created, kind, request) VALUES (
        p_merchant_id, made.id, made.created, 'payment', p_payment - 'instrument' || jsonb_build_object(
          'instrumentId', p_payment #>> '{instrument,id}', 'sessionId', p_session_id, 'recurring', false,
          'codePresent', true, 'method', p_caller.method, 'path', p_caller.path, 'key', p_caller.key
        )
      );
      UPDATE ${names.id('payment_sessions')} s SET attempt_id = made.id
        WHERE s.merchant_id = p_merchant_id AND s.id = p_session_id;
      RETURN NEXT;
    END $$`.execute(db)
}

/**
 * Writes down what the attempt of a payment became, once. p_outcome: approved, declined or unknown, the latter two with a
 * status code and the number of its processing error; an unknown one is found out by a job. Tokens are spent by an approval
 * alone. `settled`: another process was first.
 */
async function createFinish(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('payment_finish')}(
      p_merchant_id text, p_attempt_id text, p_outcome text, p_status_code text, p_error_code int, p_acquirer_ref text,
      p_network_ref text
    ) RETURNS TABLE (verdict text, transaction_id text) ${HOT} AS $$
    #variable_conflict use_variable
    DECLARE
      attempt ${names.id('attempts')};
    BEGIN
      SELECT a.* INTO STRICT attempt FROM ${names.id('attempts')} a
        WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id FOR UPDATE;
      IF attempt.status <> 'sent' THEN verdict := 'settled'; RETURN NEXT; RETURN; END IF;
      UPDATE ${names.id('attempts')} a SET status = p_outcome
        WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id;
      IF p_network_ref IS NOT NULL THEN
        UPDATE ${names.id('instruments')} i SET network_ref = p_network_ref
          WHERE i.merchant_id = p_merchant_id AND i.id = attempt.request ->> 'instrumentId';
      END IF;
      transaction_id := ${names.id('record_authorization')}(
        p_merchant_id, attempt.request, p_error_code, p_acquirer_ref
      );
      UPDATE ${names.id('payment_sessions')} s
        SET transaction_id = transaction_id, status_code = p_status_code,
          expires = date_trunc('milliseconds', clock_timestamp()) + interval '30 minutes'
        WHERE s.merchant_id = p_merchant_id AND s.id = attempt.request ->> 'sessionId';
      IF p_outcome <> 'approved' THEN
        DELETE FROM ${names.id('spent_tokens')} t
          USING jsonb_to_recordset(attempt.request -> 'tokens') AS claimed(jti text)
          WHERE t.merchant_id = p_merchant_id AND t.jti = claimed.jti;
      END IF;
      IF attempt.request ->> 'key' IS NOT NULL THEN
        PERFORM ${names.id('finish_key')}(
          jsonb_populate_record(NULL::${names.id('caller')}, attempt.request), p_merchant_id, p_merchant_id,
          CASE WHEN p_error_code IS NULL THEN 201 ELSE 400 END, transaction_id, p_error_code, p_status_code
        );
      END IF;
      IF p_outcome = 'unknown' THEN
        PERFORM ${names.id('enqueue')}(p_merchant_id, p_attempt_id, 'inquiry', '{}');
      END IF;
      verdict := 'done';
      RETURN NEXT;
    END $$`.execute(db)
}

export const createPayments: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await extendSessions(db, names)
    await createBegin(db, names)
    await createFinish(db, names)
  },
  async down(db: Kysely<unknown>) {
    const caller = names.id('caller')
    await sql`DROP FUNCTION ${names.id('payment_finish')}(text, text, text, text, int, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('payment_begin')}(${caller}, text, text, jsonb, bytea, bytea)`.execute(db)
    await sql`
      ALTER TABLE ${names.id('payment_sessions')} DROP COLUMN challenged, DROP COLUMN outcome, DROP COLUMN attempt_id,
        DROP COLUMN status_code`.execute(db)
  },
})
