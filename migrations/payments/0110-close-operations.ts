// Why: what the acquirer rejects did not happen, so the books take it back: at once, and by the lock under which it was booked.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

const settings = sql`SET plan_cache_mode = force_generic_plan SET enable_seqscan = off`

/**
 * What so many units less of an operation change in the merchant's currency: the difference between what the trail has moved
 * so far and what the rest of it is worth. Signed as the gross of an entry. A void is worth nothing.
 */
async function createCorrectionGross(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('correction_gross')}(
      p_held ${names.id('transactions')}, p_kind text, p_entry_id text, p_less bigint
    ) RETURNS bigint LANGUAGE sql STABLE AS $$
      SELECT CASE p_kind WHEN 'void' THEN 0 WHEN 'capture' THEN rest.worth - moved.worth ELSE moved.worth - rest.worth END
      FROM (
        SELECT coalesce(sum(CASE e.kind WHEN 'capture' THEN e.gross ELSE -e.gross END), 0)::bigint AS worth
        FROM ${names.id('trail_entries')} e
        WHERE e.merchant_id = p_held.merchant_id AND e.transaction_id = p_held.id
          AND e.kind IN ('capture', 'refund', 'disputeLost')
      ) moved, (
        SELECT ${names.id('captured_value')}(
            n.amounts, n.grosses, p_held.captured - CASE p_kind WHEN 'capture' THEN p_less ELSE 0 END
          ) - ${names.id('captured_value')}(
            n.amounts, n.grosses, p_held.refunded + p_held.lost - CASE p_kind WHEN 'refund' THEN p_less ELSE 0 END
          ) AS worth
        FROM ${names.id('net_captures')}(
          p_held.merchant_id, p_held.id, p_entry_id, CASE p_kind WHEN 'capture' THEN p_less ELSE 0 END
        ) n
      ) rest
    $$`.execute(db)
}

/** Posts an entry of the kind, rate and fees of another: p_amount below 0 takes it back, above 0 books it again. */
async function createCorrect(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('correct')}(
      p_held ${names.id('transactions')}, p_entry ${names.id('trail_entries')}, p_amount bigint, p_gross bigint,
      p_fee_sign int
    ) RETURNS ${names.id('transactions')} LANGUAGE plpgsql VOLATILE ${settings} AS $$
    DECLARE
      moved ${names.id('movement')};
      posted record;
      after ${names.id('transactions')};
    BEGIN
      UPDATE ${names.id('transactions')} t SET
          pending = t.pending - CASE p_entry.kind WHEN 'refund' THEN 0 ELSE p_amount END,
          captured = t.captured + CASE p_entry.kind WHEN 'capture' THEN p_amount ELSE 0 END,
          refunded = t.refunded + CASE p_entry.kind WHEN 'refund' THEN p_amount ELSE 0 END,
          voided = t.voided + CASE p_entry.kind WHEN 'void' THEN p_amount ELSE 0 END,
          trail_length = t.trail_length + 1
        WHERE t.merchant_id = p_held.merchant_id AND t.id = p_held.id RETURNING t.* INTO after;
      moved := jsonb_populate_record(NULL::${names.id('movement')}, to_jsonb(after));
      moved.kind := p_entry.kind;
      moved.transaction_id := after.id;
      moved.seq := after.trail_length;
      moved.amount := p_amount;
      moved.gross := p_gross;
      moved.fee_flat := p_fee_sign * p_entry.fee_flat;
      moved.fee_rate := p_fee_sign * p_entry.fee_rate;
      moved.rate := p_entry.rate;
      moved.rate_date := p_entry.rate_date;
      moved.descriptor := p_entry.descriptor;
      moved.reference := CASE WHEN p_amount < 0 THEN 'rejected ' ELSE 'accepted ' END || p_entry.id;
      moved.description := CASE WHEN p_amount < 0 THEN 'Rejected ' ELSE 'Accepted ' END || p_entry.kind || ' ' || after.id;
      SELECT p.* INTO posted FROM ${names.id('post')}(ARRAY[moved]) p;
      -- The acquirer has it already: there is nothing to hand over, and nothing to wait for.
      DELETE FROM ${names.id('outbox')} o
        WHERE o.merchant_id = after.merchant_id AND o.id = posted.entry_id AND o.kind = 'acquirer';
      DELETE FROM ${names.id('acquirer_operations')} o
        WHERE o.merchant_id = after.merchant_id AND o.id = posted.entry_id;
      -- What is pending again can expire again.
      UPDATE ${names.id('merchant_balances')} b SET expired_id = left(after.id, 16)
        WHERE b.merchant_id = after.merchant_id AND b.expired_id >= after.id AND after.pending > p_held.pending;
      RETURN after;
    END $$`.execute(db)
}

/**
 * Takes rejected captures back, as far as nothing else has taken them: never below what was refunded and disputed. The rest
 * stays owed for the next call. The caller has locked the transaction.
 */
async function createReverseRejected(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('reverse_rejected')}(p_merchant_id text, p_transaction_id text)
    RETURNS bigint LANGUAGE plpgsql VOLATILE ${settings} AS $$
    DECLARE
      held ${names.id('transactions')};
      rejected record;
      part bigint;
      owed bigint := 0;
    BEGIN
      SELECT t.* INTO held FROM ${names.id('transactions')} t
        WHERE t.merchant_id = p_merchant_id AND t.id = p_transaction_id FOR UPDATE;
      FOR rejected IN
        SELECT e AS entry, e.amount - back.amount AS rest, back.amount = 0 AS is_whole
        FROM ${names.id('acquirer_operations')} o
        JOIN ${names.id('trail_entries')} e ON e.merchant_id = o.merchant_id AND e.id = o.id
        CROSS JOIN LATERAL (
          SELECT -coalesce(sum(r.amount), 0)::bigint AS amount FROM ${names.id('trail_entries')} r
          WHERE r.merchant_id = o.merchant_id AND r.transaction_id = o.transaction_id AND r.kind = 'capture'
            AND r.amount < 0 AND right(r.reference, 24) = o.id
        ) back
        WHERE o.merchant_id = p_merchant_id AND o.transaction_id = p_transaction_id AND o.kind = 'capture'
          AND o.status IN ('rejected', 'unanswered') AND e.amount > back.amount
        ORDER BY e.seq
      LOOP
        part := least(rejected.rest, held.captured - held.refunded - held.disputed);
        IF part > 0 THEN
          held := ${names.id('correct')}(held, rejected.entry, -part,
            ${names.id('correction_gross')}(held, 'capture', (rejected.entry).id, part),
            CASE WHEN rejected.is_whole THEN -1 ELSE 0 END);
        END IF;
        owed := owed + rejected.rest - greatest(part, 0);
      END LOOP;
      RETURN owed;
    END $$`.execute(db)
}

/** Money that a dispute gives free may be owed to the acquirer. */
async function reverseAfterDisputes(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('reverse_after_dispute')}() RETURNS trigger LANGUAGE plpgsql ${settings} AS $$
    BEGIN
      PERFORM ${names.id('reverse_rejected')}(NEW.merchant_id, NEW.transaction_id);
      RETURN NULL;
    END $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('disputes_won')} AFTER UPDATE ON ${names.id('disputes')}
    FOR EACH ROW WHEN (OLD.status = 'open' AND NEW.status = 'won')
    EXECUTE FUNCTION ${names.id('reverse_after_dispute')}()`.execute(db)
}

/** Books an operation again that was accepted after it had been taken back. False where the amount is no longer there. */
async function createBookAgain(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('book_again')}(p_held ${names.id('transactions')}, p_entry ${names.id('trail_entries')})
    RETURNS boolean LANGUAGE plpgsql VOLATILE ${settings} AS $$
    DECLARE
      back record;
      gross bigint := 0;
    BEGIN
      SELECT -coalesce(sum(r.amount), 0)::bigint AS amount, -coalesce(sum(r.gross), 0)::bigint AS gross,
          CASE WHEN count(*) > 0 THEN 1 ELSE 0 END AS fees INTO back
        FROM ${names.id('trail_entries')} r
        WHERE r.merchant_id = p_held.merchant_id AND r.transaction_id = p_held.id AND r.amount < 0
          AND right(r.reference, 24) = p_entry.id;
      IF back.amount = 0 THEN RETURN true; END IF;
      IF back.amount > (CASE p_entry.kind WHEN 'refund' THEN p_held.captured - p_held.refunded - p_held.disputed
          ELSE p_held.pending END) THEN
        RETURN false;
      END IF;
      IF p_entry.kind = 'capture' THEN gross := back.gross; END IF;
      IF p_entry.kind = 'refund' THEN
        gross := ${names.id('reversal_gross')}(
          p_held.merchant_id, p_held.id, p_held.refunded + p_held.lost, back.amount
        );
      END IF;
      PERFORM ${names.id('correct')}(p_held, p_entry, back.amount, gross, back.fees);
      RETURN true;
    END $$`.execute(db)
}

/**
 * What the acquirer has made of an operation: accepted, rejected, or unanswered for too long. `repeated`: it was known.
 * `conflict`: it contradicts what was known, or cannot be booked any more, and nothing has changed. owed: what is still to be
 * taken back of rejected captures of the transaction, in its currency.
 */
async function createClose(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('operation_close')}(p_merchant_id text, p_id text, p_outcome text, p_reason text)
    RETURNS TABLE (verdict text, status text, owed bigint) LANGUAGE plpgsql VOLATILE ${settings} AS $$
    #variable_conflict use_variable
    DECLARE
      entry ${names.id('trail_entries')};
      held ${names.id('transactions')};
      ids record;
    BEGIN
      SELECT e.* INTO STRICT entry FROM ${names.id('trail_entries')} e WHERE e.merchant_id = p_merchant_id AND e.id = p_id;
      SELECT t.* INTO STRICT held FROM ${names.id('transactions')} t
        WHERE t.merchant_id = p_merchant_id AND t.id = entry.transaction_id FOR UPDATE;
      -- An operation that a version before this one has handed over has no row yet.
      INSERT INTO ${names.id('acquirer_operations')} (merchant_id, id, created, transaction_id, kind)
        VALUES (p_merchant_id, p_id, entry.created, held.id, entry.kind) ON CONFLICT DO NOTHING;
      SELECT o.status INTO status FROM ${names.id('acquirer_operations')} o
        WHERE o.merchant_id = p_merchant_id AND o.id = p_id FOR UPDATE;
      verdict := CASE
        WHEN status = p_outcome OR status <> 'open' AND p_outcome = 'unanswered' THEN 'repeated'
        WHEN status IN ('accepted', 'rejected') THEN 'conflict'
        WHEN status = 'unanswered' AND p_outcome = 'accepted' AND NOT ${names.id('book_again')}(held, entry)
          THEN 'conflict'
        ELSE 'done'
      END;
      owed := 0;
      IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
      UPDATE ${names.id('acquirer_operations')} o
        SET status = p_outcome, reason = p_reason, answered = date_trunc('milliseconds', clock_timestamp())
        WHERE o.merchant_id = p_merchant_id AND o.id = p_id;
      IF status = 'open' AND p_outcome <> 'accepted' THEN
        IF entry.kind <> 'capture' THEN
          PERFORM ${names.id('correct')}(held, entry, -entry.amount,
            ${names.id('correction_gross')}(held, entry.kind, p_id, entry.amount), -1);
        END IF;
        ids := ${names.id('take_ids')}(p_merchant_id, 1);
        PERFORM ${names.id('enqueue')}(p_merchant_id, ${names.id('id_at')}(ids.first, ids.tag), 'rejection_mail',
          jsonb_build_object('operationId', p_id));
      END IF;
      status := p_outcome;
      owed := ${names.id('reverse_rejected')}(p_merchant_id, held.id);
      RETURN NEXT;
    END $$`.execute(db)
}

export const closeOperations: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createCorrectionGross(db, names)
    await createCorrect(db, names)
    await createReverseRejected(db, names)
    await reverseAfterDisputes(db, names)
    await createBookAgain(db, names)
    await createClose(db, names)
  },
  async down(db: Kysely<unknown>) {
    const [held, entry] = [names.id('transactions'), names.id('trail_entries')]
    await sql`DROP FUNCTION ${names.id('operation_close')}(text, text, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('book_again')}(${held}, ${entry})`.execute(db)
    await sql`DROP TRIGGER ${names.local('disputes_won')} ON ${names.id('disputes')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('reverse_after_dispute')}()`.execute(db)
    await sql`DROP FUNCTION ${names.id('reverse_rejected')}(text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('correct')}(${held}, ${entry}, bigint, bigint, int)`.execute(db)
    await sql`DROP FUNCTION ${names.id('correction_gross')}(${held}, text, text, bigint)`.execute(db)
  },
})
