// Why: the body of `post` ran some sixty statements for a capture, and each costs; here are half as many. What it writes is the
// same, but for the places of entries: each side of a movement has its own now, whichever others there are.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/** The entries of a movement (contract 11.2) without those that are zero; own is the merchant's currency. */
async function createEntriesOf(db: Kysely<unknown>, names: Names): Promise<void> {
  const entries = names.id('entries')
  const entry = (seq: number, account: string, currency: string, amount: string) =>
    sql`ROW(m.merchant_id, p_journal_id, ${sql.lit(seq)}, ${sql.lit(account)}, ${sql.raw(currency)}, ${sql.raw(amount)}, m.test)::${entries}`
  const pair = (from: string, to: string) =>
    sql`ARRAY[${entry(1, from, 'own', '-m.gross')}, ${entry(2, to, 'own', 'm.gross')}]`
  const card = (turn: string, back: string) => sql`
        ARRAY[${entry(1, 'scheme_receivable', 'm.currency', `${back}m.amount`)}]
          || CASE WHEN m.gross <> 0 THEN ARRAY[${entry(2, 'merchant', 'own', `${turn}m.gross`)}] END
          || CASE WHEN m.fee_flat + m.fee_rate <> 0 THEN ARRAY[
            ${entry(3, 'merchant', 'own', '-(m.fee_flat + m.fee_rate)')}, ${entry(4, 'fee_income', 'own', 'm.fee_flat + m.fee_rate')}
          ] END
          || CASE WHEN m.currency <> own THEN ARRAY[${entry(5, 'fx_position', 'm.currency', `${turn}m.amount`)}]
            || CASE WHEN m.gross <> 0 THEN ARRAY[${entry(6, 'fx_position', 'own', `${back}m.gross`)}] END END`
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('entries_of')}(m ${names.id('movement')}, p_journal_id text, own text)
    RETURNS ${entries}[] LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE m.kind
        WHEN 'capture' THEN ${card('', '-')}
        WHEN 'payout' THEN ${pair('merchant', 'payout_clearing')}
        WHEN 'payoutSettled' THEN ${pair('payout_clearing', 'bank')}
        WHEN 'payoutReversal' THEN ${pair('payout_clearing', 'merchant')}
        WHEN 'adjustment' THEN ${pair('adjustment', 'merchant')}
        WHEN 'schemeSettled' THEN ARRAY[
          ${entry(1, 'scheme_receivable', 'm.currency', 'm.amount')}, ${entry(2, 'bank', 'm.currency', '-m.amount')}
        ]
        ELSE ${card('-', '')}
      END
    $$`.execute(db)
}

/** The journal of a movement; the bytes of its entries follow its own. A side that is missing adds none. */
function bookJournal(names: Names): RawBuilder<unknown> {
  const bytes = [1, 2, 3, 4, 5, 6].map((place) => sql`coalesce(record_send(legs[${sql.lit(place)}]), '')`)
  return sql`
            legs := ${names.id('entries_of')}(m, journal_id, held.currency);
            entries := entries || legs;
            journal := ROW(m.merchant_id, journal_id, created, journal_kind, coalesce(entry_id, m.cause_id, journal_id),
              m.test, NULL, 1);
            held.chain_head := sha256('\\x01' || held.chain_head || record_send(journal) || ${sql.join(bytes, sql` || `)});
            journal.hash := held.chain_head;
            journals := journals || journal;`
}

/** The trail entry of a transaction's movement, and the work that remains of a live one. */
function bookTrail(names: Names): RawBuilder<unknown> {
  return sql`
            trail_entry := ROW(m.merchant_id, entry_id, created, m.transaction_id, m.seq, m.kind, m.amount, m.gross,
              m.fee_flat, m.fee_rate, effect, m.descriptor, m.reference, line_id, m.dispute_id, m.rate, m.rate_date, NULL, 1);
            held.chain_head := sha256('\\x01' || held.chain_head || record_send(trail_entry));
            trail_entry.hash := held.chain_head;
            trail := trail || trail_entry;
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
            lines := lines || line;`

/** The event of a kind, and which object it is about; nothing for adjustments and settlements of the scheme. */
function noteEvent(names: Names): RawBuilder<unknown> {
  return sql`
          IF m.kind NOT IN ('adjustment', 'schemeSettled') THEN
            events := events || ROW(m.merchant_id, held.last_id, created, CASE m.kind
                WHEN 'capture' THEN 'transaction.captured'
                WHEN 'refund' THEN 'transaction.refunded'
                WHEN 'void' THEN 'transaction.voided'
                WHEN 'disputeWon' THEN 'dispute.won'
                WHEN 'disputeLost' THEN 'dispute.lost'
                WHEN 'payout' THEN 'payout.created'
                WHEN 'payoutSettled' THEN 'payout.settled'
                WHEN 'payoutReversal' THEN 'payout.failed'
              END, 1, coalesce(m.dispute_id, m.transaction_id, m.cause_id),
              m.pending, m.captured, m.refunded, m.voided, m.disputed, m.seq, NULL)::${names.id('events')};
          END IF;`
}

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

export const quickenPost: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createEntriesOf(db, names)
    await sql`
      CREATE OR REPLACE FUNCTION ${names.id('post')}(p_movements ${names.id('movement')}[])
      RETURNS TABLE (
        nth bigint, journal_id text, entry_id text, line_id text, created timestamptz, balance_after bigint
      )
      LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
      #variable_conflict use_column
      DECLARE
        m ${names.id('movement')};
        held ${names.id('merchant_balances')};
        each record;
        number bigint; tag text; journal_kind text; line_kind text; effect bigint;
        journal ${names.id('journals')}; journals ${names.id('journals')}[] := '{}';
        legs ${names.id('entries')}[]; entries ${names.id('entries')}[] := '{}';
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
          nth := each.ordinality;
          m := p_movements[nth];
          IF m.merchant_id IS DISTINCT FROM held.merchant_id THEN
            IF held.merchant_id IS NOT NULL THEN balances := balances || held; END IF;
            held := each.held;
            tag := right(held.last_id, 8);
            number := ${names.id('next_number')}(held.last_id);
          END IF;
          created := ${names.id('created_at')}(number);
          journal_kind := CASE WHEN m.kind IN ('void', 'disputeWon') THEN NULL WHEN m.kind = 'disputeLost' THEN 'dispute'
            ELSE m.kind END;
          line_kind := CASE WHEN journal_kind NOT IN ('payoutSettled', 'schemeSettled') THEN journal_kind END;
          journal_id := CASE WHEN journal_kind IS NOT NULL THEN ${names.id('id_at')}(number, tag) END;
          entry_id := CASE WHEN m.transaction_id IS NOT NULL THEN ${names.id('id_at')}(number + 1, tag) END;
          line_id := CASE WHEN line_kind IS NOT NULL THEN ${names.id('id_at')}(number + 2, tag) END;
          -- What the entries of the account "merchant" come to.
          effect := CASE m.kind
            WHEN 'capture' THEN m.gross - m.fee_flat - m.fee_rate
            WHEN 'refund' THEN -m.gross - m.fee_flat - m.fee_rate
            WHEN 'disputeLost' THEN -m.gross - m.fee_flat - m.fee_rate
            WHEN 'payout' THEN -m.gross
            WHEN 'payoutReversal' THEN m.gross
            WHEN 'adjustment' THEN m.gross
            ELSE 0
          END;
          IF journal_id IS NOT NULL THEN ${bookJournal(names)}
          END IF;
          IF entry_id IS NOT NULL THEN ${bookTrail(names)}
          END IF;
          IF line_id IS NOT NULL THEN ${bookLine}
          END IF;
          held.last_id := ${names.id('id_at')}(number + 3, tag);
          held.line_count := held.line_count + num_nonnulls(line_id);
          held.chain_length := held.chain_length + num_nonnulls(journal_id, entry_id, line_id);
          number := number + 4;
          balance_after := held.balance;
          ${noteEvent(names)}
          RETURN NEXT;
        END LOOP;
        balances := balances || held;
        PERFORM FROM unnest(entries) e GROUP BY e.journal_id, e.currency HAVING sum(e.amount) <> 0;
        IF FOUND THEN RAISE EXCEPTION 'a journal does not sum to zero'; END IF;
        ${insertRows(names)}
      END $$`.execute(db)
  },
  // What it was before is made by 0029; going back past this one means going back past that.
  async down() {},
})
