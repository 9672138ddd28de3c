-- distribute: everywhere
-- Writes the ledger for one or more movements: entries, lines, their chain of hashes and balances. Nothing else writes these.
-- Also adds events and jobs, as add_event and enqueue do. Returns a row for each movement; nth is its place in p_movements.
-- Raises TL002 if a balance would exceed bigint.
--
-- Rows are computed in variables and inserted table by table, because one statement that computes everything takes a millisecond
-- to start, even for one movement. Balances are locked in the order of merchants, which prevents deadlocks. A call for one
-- merchant has only statements that name the merchant, which a distributed database runs on the merchant's server.
--
-- record_send writes texts in the encoding of the client, so the function sets the encoding. Otherwise a caller with another
-- encoding than UTF-8 would create hashes that do not match. (reference: Chain of the ledger)
CREATE OR REPLACE FUNCTION {{post}}(p_movements {{movement}}[])
RETURNS TABLE (nth bigint, journal_id text, entry_id text, line_id text, created timestamptz, balance_after bigint)
LANGUAGE plpgsql
{{include:hot.sql}}
SET client_encoding = 'UTF8'
AS $$
#variable_conflict use_column
DECLARE
  -- m: the movement for the trail. booked: the movement for the ledger and the line, in the merchant's present currency.
  m {{movement}};
  booked {{movement}};
  held {{merchant_balances}};
  each record;
  number bigint;
  tag text;
  journal_kind text;
  line_kind text;
  effect bigint;
  journal {{journals}};
  journals {{journals}}[] := '{}';
  legs {{entries}}[];
  entries {{entries}}[] := '{}';
  trail_entry {{trail_entries}};
  trail {{trail_entries}}[] := '{}';
  line {{lines}};
  lines {{lines}}[] := '{}';
  events {{events}}[] := '{}';
  outbox {{outbox}}[] := '{}';
  -- The merchants in order, and their balances in the same order.
  merchants text[] := ARRAY(SELECT DISTINCT m.merchant_id FROM unnest(p_movements) m ORDER BY 1);
  balances {{merchant_balances}}[];
  place int := 0;
BEGIN
  IF cardinality(merchants) = 1 THEN
    SELECT b.* INTO STRICT held FROM {{merchant_balances}} b WHERE b.merchant_id = merchants[1] FOR UPDATE;
    balances := ARRAY[held];
  ELSE
    balances := ARRAY(
      SELECT b FROM unnest(merchants) v (merchant_id) LEFT JOIN LATERAL (
        SELECT * FROM {{merchant_balances}} b WHERE b.merchant_id = v.merchant_id FOR UPDATE
      ) b ON true
    );
  END IF;
  FOR each IN
    SELECT m.merchant_id, m.ordinality FROM unnest(p_movements) WITH ORDINALITY m ORDER BY 1, 2
  LOOP
    nth := each.ordinality;
    m := p_movements[nth];
    IF m.merchant_id IS DISTINCT FROM merchants[place] THEN
      IF place > 0 THEN balances[place] := held; END IF;
      place := place + 1;
      held := balances[place];
      tag := right(held.last_id, 8);
      number := {{next_number}}(held.last_id);
    END IF;
    created := {{created_at}}(number);
    -- A void and a won dispute move no money. A settlement does not change the merchant's balance, so it has no line.
    journal_kind := CASE
      WHEN m.kind IN ('void', 'disputeWon') THEN NULL
      WHEN m.kind = 'disputeLost' THEN 'dispute'
      ELSE m.kind
    END;
    line_kind := CASE
      WHEN journal_kind IN ('currencyClosed', 'currencyOpened') THEN 'adjustment'
      WHEN journal_kind NOT IN ('payoutSettled', 'schemeSettled') THEN journal_kind
    END;
    journal_id := CASE WHEN journal_kind IS NOT NULL THEN {{id_at}}(number, tag) END;
    entry_id := CASE WHEN m.transaction_id IS NOT NULL THEN {{id_at}}(number + 1, tag) END;
    line_id := CASE WHEN line_kind IS NOT NULL THEN {{id_at}}(number + 2, tag) END;
    booked := CASE WHEN m.funding_currency <> held.currency THEN {{movement_in_euro}}(m) ELSE m END;
    effect := {{balance_effect}}(m.kind, booked.gross + coalesce(booked.excess_gross, 0), booked.fee_flat + booked.fee_rate);
    IF journal_id IS NOT NULL THEN
      legs := {{entries_of}}(booked, journal_id, held.currency);
      entries := entries || legs;
      journal := ROW(m.merchant_id, journal_id, created, journal_kind, coalesce(entry_id, m.cause_id, journal_id),
        m.test, NULL, 1);
      -- The hash covers the journal and then its entries. A missing entry adds no bytes.
      held.chain_head := sha256('\x01' || held.chain_head || record_send(journal)
        || coalesce(record_send(legs[1]), '') || coalesce(record_send(legs[2]), '') || coalesce(record_send(legs[3]), '')
        || coalesce(record_send(legs[4]), '') || coalesce(record_send(legs[5]), '') || coalesce(record_send(legs[6]), '')
        || coalesce(record_send(legs[7]), '') || coalesce(record_send(legs[8]), '') || coalesce(record_send(legs[9]), '')
        || coalesce(record_send(legs[10]), ''));
      journal.hash := held.chain_head;
      journals := journals || journal;
    END IF;
    -- Hand over live captures, refunds and voids to the acquirer. Do not hand over an entry that takes back a rejected entry,
    -- because the acquirer itself has rejected it.
    IF entry_id IS NOT NULL THEN
      trail_entry := ROW(m.merchant_id, entry_id, created, m.transaction_id, m.seq, m.kind, m.amount, m.gross,
        m.fee_flat, m.fee_rate,
        {{balance_effect}}(m.kind, m.gross + coalesce(m.excess_gross, 0), m.fee_flat + m.fee_rate),
        m.descriptor, m.reference, line_id, m.dispute_id, m.rate, m.rate_date, NULL, 1);
      held.chain_head := sha256('\x01' || held.chain_head || record_send(trail_entry));
      trail_entry.hash := held.chain_head;
      trail := trail || trail_entry;
      IF NOT m.test AND m.amount > 0 AND m.kind IN ('capture', 'refund', 'void') THEN
        outbox := outbox || ROW(m.merchant_id, entry_id, created, 'acquirer', '{}')::{{outbox}};
      END IF;
    END IF;
    IF line_id IS NOT NULL THEN
      IF abs(held.balance::numeric + effect) > 9223372036854775807 THEN
        RAISE EXCEPTION 'the balance of % would be beyond 9223372036854775807', m.merchant_id USING ERRCODE = 'TL002';
      END IF;
      held.balance := held.balance + effect;
      line := ROW(m.merchant_id, line_id, created, line_kind, effect, booked.fee_flat + booked.fee_rate,
        coalesce(m.description, initcap(CASE line_kind WHEN 'payoutReversal' THEN 'payout' ELSE line_kind END)
          || ' ' || coalesce(m.transaction_id, m.cause_id)),
        m.transaction_id, m.amount, m.currency, held.balance, journal_id, m.test, NULL, 1);
      held.chain_head := sha256('\x01' || held.chain_head || record_send(line));
      line.hash := held.chain_head;
      lines := lines || line;
    END IF;
    held.last_id := {{id_at}}(number + 3, tag);
    held.line_count := held.line_count + num_nonnulls(line_id);
    held.chain_length := held.chain_length + num_nonnulls(journal_id, entry_id, line_id);
    number := number + 4;
    balance_after := held.balance;
    -- Adjustments, settlements of the scheme and a move to the euro have no event.
    IF m.kind NOT IN ('adjustment', 'schemeSettled', 'currencyClosed', 'currencyOpened') THEN
      events := events || ROW(m.merchant_id, held.last_id, created,
        {{event_type}}(m.kind, m.amount < 0), 1, coalesce(m.dispute_id, m.transaction_id, m.cause_id),
        m.pending, m.captured, m.refunded, m.voided, m.disputed, m.seq, NULL)::{{events}};
    END IF;
    RETURN NEXT;
  END LOOP;
  balances[place] := held;
  PERFORM FROM unnest(entries) e GROUP BY e.journal_id, e.currency HAVING sum(e.amount) <> 0;
  IF FOUND THEN RAISE EXCEPTION 'a journal does not sum to zero'; END IF;
  IF cardinality(p_movements) = 1 THEN
    PERFORM {{insert_movement}}(entries, journals[1], trail[1], lines[1], events[1]);
  ELSE
    INSERT INTO {{journals}} SELECT * FROM unnest(journals) AS row;
    INSERT INTO {{entries}} SELECT * FROM unnest(entries) AS row;
    INSERT INTO {{trail_entries}} SELECT * FROM unnest(trail) AS row;
    INSERT INTO {{lines}} SELECT * FROM unnest(lines) AS row;
    INSERT INTO {{events}} SELECT * FROM unnest(events) AS row;
  END IF;
  IF cardinality(merchants) = 1 THEN
    PERFORM 1 FROM {{webhooks}} w WHERE w.merchant_id = held.merchant_id AND w.disabled IS NULL LIMIT 1;
    IF FOUND THEN
      outbox := outbox || ARRAY(SELECT ROW(e.merchant_id, e.id, e.created, 'event', '{}')::{{outbox}} FROM unnest(events) e);
    END IF;
    IF cardinality(outbox) > 0 THEN INSERT INTO {{outbox}} SELECT * FROM unnest(outbox) AS row; END IF;
    UPDATE {{merchant_balances}} b
      SET balance = held.balance, last_id = held.last_id, line_count = held.line_count, chain_head = held.chain_head,
        chain_length = held.chain_length
      WHERE b.merchant_id = held.merchant_id;
  ELSE
    INSERT INTO {{outbox}}
      SELECT * FROM unnest(outbox)
      UNION ALL
      SELECT e.merchant_id, e.id, e.created, 'event', '{}' FROM unnest(events) e
        WHERE e.merchant_id IN (SELECT w.merchant_id FROM {{webhooks}} w WHERE w.disabled IS NULL);
    UPDATE {{merchant_balances}} b
      SET balance = v.balance, last_id = v.last_id, line_count = v.line_count, chain_head = v.chain_head,
        chain_length = v.chain_length
      FROM unnest(balances) v WHERE b.merchant_id = v.merchant_id;
  END IF;
END
$$;
