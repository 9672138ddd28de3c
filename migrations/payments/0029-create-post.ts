import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

// Why: one function writes the ledger, so that entries, balances, ids, the chain of hashes, events and the work that remains
// are made in one place, whether one movement is posted or a hundred. Rows are computed in variables and inserted a table at
// a time: one statement that computes everything takes a millisecond to start, even for a single movement.

/** A movement whose amounts are decided. In the merchant's currency: gross, fee_flat, fee_rate. */
async function createMovement(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TYPE ${names.id('movement')} AS (
      merchant_id text, kind text, test boolean,
      amount bigint, currency text, gross bigint, fee_flat bigint, fee_rate bigint, rate text, rate_date date,
      transaction_id text, seq int, descriptor text, reference text, dispute_id text,
      cause_id text, description text,
      pending bigint, captured bigint, refunded bigint, voided bigint, disputed bigint
    )`.execute(db)
}

/** The entries of a movement (contract 11.2); own is the merchant's currency. Some may be zero: those are left out. */
async function createEntriesOf(db: Kysely<unknown>, names: Names): Promise<void> {
  const entry = (account: string, currency: string, amount: string) =>
    sql`ROW(m.merchant_id, p_journal_id, NULL, ${sql.lit(account)}, ${sql.raw(currency)}, ${sql.raw(amount)}, m.test)`
  const entries = (...rows: readonly [string, string, string][]) =>
    sql`ARRAY[${sql.join(rows.map((row) => entry(...row)))}]::${names.id('entries')}[]`
  await sql`
    CREATE FUNCTION ${names.id('entries_of')}(m ${names.id('movement')}, p_journal_id text, own text)
    RETURNS ${names.id('entries')}[] LANGUAGE plpgsql IMMUTABLE AS $$
    DECLARE
      sign int := CASE WHEN m.kind = 'capture' THEN 1 ELSE -1 END;
    BEGIN
      RETURN CASE
        WHEN m.kind IN ('capture', 'refund', 'disputeLost') THEN ${entries(
          ['scheme_receivable', 'm.currency', '-sign * m.amount'],
          ['merchant', 'own', 'sign * m.gross'],
          ['merchant', 'own', '-(m.fee_flat + m.fee_rate)'],
          ['fee_income', 'own', 'm.fee_flat + m.fee_rate'],
        )} || CASE WHEN m.currency <> own THEN ${entries(
          ['fx_position', 'm.currency', 'sign * m.amount'],
          ['fx_position', 'own', '-sign * m.gross'],
        )} END
        WHEN m.kind = 'payout' THEN ${entries(['merchant', 'own', '-m.gross'], ['payout_clearing', 'own', 'm.gross'])}
        WHEN m.kind = 'payoutSettled' THEN ${entries(['payout_clearing', 'own', '-m.gross'], ['bank', 'own', 'm.gross'])}
        WHEN m.kind = 'payoutReversal' THEN ${entries(
          ['payout_clearing', 'own', '-m.gross'],
          ['merchant', 'own', 'm.gross'],
        )}
        WHEN m.kind = 'adjustment' THEN ${entries(['merchant', 'own', 'm.gross'], ['adjustment', 'own', '-m.gross'])}
        WHEN m.kind = 'schemeSettled' THEN ${entries(
          ['scheme_receivable', 'm.currency', 'm.amount'],
          ['bank', 'm.currency', '-m.amount'],
        )}
      END;
    END $$`.execute(db)
}

/** Entries of a journal, without those that are zero, and what they do to the merchant's balance. */
function bookJournal(names: Names): RawBuilder<unknown> {
  return sql`
          effect := 0;
          bytes := '';
          place := 0;
          FOREACH entry IN ARRAY ${names.id('entries_of')}(m, journal_id, held.currency) LOOP
            CONTINUE WHEN entry.amount = 0;
            place := place + 1;
            entry.seq := place;
            entries := entries || entry;
            bytes := bytes || record_send(entry);
            IF entry.account = 'merchant' THEN effect := effect + entry.amount; END IF;
          END LOOP;
          journal := ROW(m.merchant_id, journal_id, created, journal_kind, coalesce(entry_id, m.cause_id, journal_id), m.test,
            NULL, 1);
          held.chain_head := sha256('\\x01' || held.chain_head || record_send(journal) || bytes);
          journal.hash := held.chain_head;
          journals := journals || journal;
          held.chain_length := held.chain_length + 1;`
}

/** The trail entry of a transaction's movement. */
function bookTrail(names: Names): RawBuilder<unknown> {
  return sql`
          trail_entry := ROW(m.merchant_id, entry_id, created, m.transaction_id, m.seq, m.kind, m.amount, m.gross,
            m.fee_flat, m.fee_rate, effect, m.descriptor, m.reference, line_id, m.dispute_id, m.rate, m.rate_date,
            NULL, 1);
          held.chain_head := sha256('\\x01' || held.chain_head || record_send(trail_entry));
          trail_entry.hash := held.chain_head;
          trail := trail || trail_entry;
          held.chain_length := held.chain_length + 1;
          IF NOT m.test AND m.kind IN ('capture', 'refund', 'void') THEN
            outbox := outbox || ROW(m.merchant_id, entry_id, created, 'acquirer', '{}')::${names.id('outbox')};
          END IF;`
}

/** The line of a movement of the balance. */
const bookLine = sql`
          held.balance := held.balance + effect;
          line := ROW(m.merchant_id, line_id, created, line_kind, effect, m.fee_flat + m.fee_rate,
            coalesce(m.description, initcap(CASE line_kind WHEN 'payoutReversal' THEN 'payout' ELSE line_kind END)
              || ' ' || coalesce(m.transaction_id, m.cause_id)),
            m.transaction_id, m.amount, m.currency, held.balance, journal_id, m.test, NULL, 1);
          held.chain_head := sha256('\\x01' || held.chain_head || record_send(line));
          line.hash := held.chain_head;
          lines := lines || line;
          held.chain_length := held.chain_length + 1;
          held.line_count := held.line_count + 1;`

/** What a kind leaves: names of its journal, its line and its event, NULL where it has none. */
const traces = sql`
        journal_kind := CASE WHEN m.kind IN ('void', 'disputeWon') THEN NULL WHEN m.kind = 'disputeLost' THEN 'dispute'
          ELSE m.kind END;
        line_kind := CASE WHEN journal_kind NOT IN ('payoutSettled', 'schemeSettled') THEN journal_kind END;
        event_type := CASE m.kind
          WHEN 'capture' THEN 'transaction.captured'
          WHEN 'refund' THEN 'transaction.refunded'
          WHEN 'void' THEN 'transaction.voided'
          WHEN 'disputeWon' THEN 'dispute.won'
          WHEN 'disputeLost' THEN 'dispute.lost'
          WHEN 'payout' THEN 'payout.created'
          WHEN 'payoutSettled' THEN 'payout.settled'
          WHEN 'payoutReversal' THEN 'payout.failed'
        END;`

function insertRows(names: Names): RawBuilder<unknown> {
  const insert = (table: string, rows: RawBuilder<unknown>) =>
    sql`INSERT INTO ${names.id(table)} SELECT * FROM unnest(${rows}) AS row;`
  return sql`
        ${insert('journals', sql`journals`)}
        ${insert('entries', sql`entries`)}
        ${insert('trail_entries', sql`trail`)}
        ${insert('lines', sql`lines`)}
        ${insert('events', sql`events`)}
        INSERT INTO ${names.id('outbox')}
          SELECT * FROM unnest(outbox)
          UNION ALL
          SELECT e.merchant_id, e.id, e.created, 'event', '{}' FROM unnest(events) e
            WHERE e.merchant_id IN (SELECT w.merchant_id FROM ${names.id('webhooks')} w WHERE w.disabled IS NULL);
        UPDATE ${names.id('merchant_balances')} b
          SET balance = v.balance, last_id = v.last_id, line_count = v.line_count, chain_head = v.chain_head,
            chain_length = v.chain_length
          FROM unnest(balances) v WHERE b.merchant_id = v.merchant_id;`
}

export const createPost: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createMovement(db, names)
    await createEntriesOf(db, names)
    await sql`
      CREATE FUNCTION ${names.id('post')}(p_movements ${names.id('movement')}[])
      RETURNS TABLE (
        nth bigint, journal_id text, entry_id text, line_id text, created timestamptz, balance_after bigint
      )
      LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
      #variable_conflict use_column
      DECLARE
        m ${names.id('movement')};
        held ${names.id('merchant_balances')};
        each record;
        number bigint;
        tag text;
        journal_kind text; line_kind text; event_type text;
        effect bigint;
        bytes bytea;
        place smallint;
        journal ${names.id('journals')}; journals ${names.id('journals')}[] := '{}';
        entry ${names.id('entries')}; entries ${names.id('entries')}[] := '{}';
        trail_entry ${names.id('trail_entries')}; trail ${names.id('trail_entries')}[] := '{}';
        line ${names.id('lines')}; lines ${names.id('lines')}[] := '{}';
        events ${names.id('events')}[] := '{}';
        outbox ${names.id('outbox')}[] := '{}';
        balances ${names.id('merchant_balances')}[] := '{}';
      BEGIN
        FOR each IN
          SELECT b AS held, v.ordinality
          FROM (SELECT m.merchant_id, m.ordinality FROM unnest(p_movements) WITH ORDINALITY m ORDER BY 1, 2) v
          CROSS JOIN LATERAL (
            SELECT * FROM ${names.id('merchant_balances')} b WHERE b.merchant_id = v.merchant_id FOR UPDATE
          ) b
        LOOP
          m := p_movements[each.ordinality];
          IF m.merchant_id IS DISTINCT FROM held.merchant_id THEN
            IF held.merchant_id IS NOT NULL THEN balances := balances || held; END IF;
            held := each.held;
            tag := right(held.last_id, 8);
            number := ${names.id('next_number')}(held.last_id);
          END IF;
          ${traces}
          nth := each.ordinality;
          created := ${names.id('created_at')}(number);
          journal_id := CASE WHEN journal_kind IS NOT NULL THEN ${names.id('id_at')}(number, tag) END;
          entry_id := CASE WHEN m.transaction_id IS NOT NULL THEN ${names.id('id_at')}(number + 1, tag) END;
          line_id := CASE WHEN line_kind IS NOT NULL THEN ${names.id('id_at')}(number + 2, tag) END;
          held.last_id := ${names.id('id_at')}(number + 3, tag);
          number := number + 4;
          effect := 0;
          IF journal_id IS NOT NULL THEN ${bookJournal(names)} END IF;
          IF entry_id IS NOT NULL THEN ${bookTrail(names)} END IF;
          IF line_id IS NOT NULL THEN ${bookLine} END IF;
          IF event_type IS NOT NULL THEN
            events := events || ROW(m.merchant_id, held.last_id, created, event_type, 1,
              CASE split_part(event_type, '.', 1) WHEN 'transaction' THEN m.transaction_id
                WHEN 'dispute' THEN m.dispute_id ELSE m.cause_id END,
              m.pending, m.captured, m.refunded, m.voided, m.disputed, m.seq, NULL)::${names.id('events')};
          END IF;
          balance_after := held.balance;
          RETURN NEXT;
        END LOOP;
        balances := balances || held;
        PERFORM FROM unnest(entries) e GROUP BY e.journal_id, e.currency HAVING sum(e.amount) <> 0;
        IF FOUND THEN RAISE EXCEPTION 'a journal does not sum to zero'; END IF;
        ${insertRows(names)}
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('post')}(${names.id('movement')}[])`.execute(db)
    await sql`DROP FUNCTION ${names.id('entries_of')}(${names.id('movement')}, text, text)`.execute(db)
    await sql`DROP TYPE ${names.id('movement')}`.execute(db)
  },
})
