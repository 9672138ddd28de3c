-- distribute: everywhere
-- Inserts the rows of the only movement of a `post` call with VALUES. A row is NULL if the movement has none. A distributed
-- database keeps the plan of such an INSERT, but plans an INSERT of a query again at each call. A capture with fees in the
-- merchant's currency has four entries. One statement inserts the four, because they sum to zero together.
CREATE OR REPLACE FUNCTION {{insert_movement}}(
  p_entries {{entries}}[], p_journal {{journals}}, p_trail_entry {{trail_entries}}, p_line {{lines}}, p_event {{events}}
)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  first {{entries}} := p_entries[1];
  second {{entries}} := p_entries[2];
  third {{entries}} := p_entries[3];
  fourth {{entries}} := p_entries[4];
BEGIN
  IF cardinality(p_entries) = 4 THEN
    INSERT INTO {{entries}} VALUES
      (first.merchant_id, first.journal_id, first.seq, first.account, first.currency, first.amount, first.test),
      (second.merchant_id, second.journal_id, second.seq, second.account, second.currency, second.amount, second.test),
      (third.merchant_id, third.journal_id, third.seq, third.account, third.currency, third.amount, third.test),
      (fourth.merchant_id, fourth.journal_id, fourth.seq, fourth.account, fourth.currency, fourth.amount, fourth.test);
  ELSE
    INSERT INTO {{entries}} SELECT * FROM unnest(p_entries) AS row;
  END IF;
  IF p_journal.id IS NOT NULL THEN
    INSERT INTO {{journals}} VALUES (p_journal.merchant_id, p_journal.id, p_journal.created, p_journal.kind,
      p_journal.cause_id, p_journal.test, p_journal.hash, p_journal.hash_version);
  END IF;
  IF p_trail_entry.id IS NOT NULL THEN
    INSERT INTO {{trail_entries}} VALUES (p_trail_entry.merchant_id, p_trail_entry.id, p_trail_entry.created,
      p_trail_entry.transaction_id, p_trail_entry.seq, p_trail_entry.kind, p_trail_entry.amount, p_trail_entry.gross,
      p_trail_entry.fee_flat, p_trail_entry.fee_rate, p_trail_entry.balance, p_trail_entry.descriptor,
      p_trail_entry.reference, p_trail_entry.line_id, p_trail_entry.dispute_id, p_trail_entry.rate,
      p_trail_entry.rate_date, p_trail_entry.hash, p_trail_entry.hash_version);
  END IF;
  IF p_line.id IS NOT NULL THEN
    INSERT INTO {{lines}} VALUES (p_line.merchant_id, p_line.id, p_line.created, p_line.kind, p_line.balance, p_line.fee,
      p_line.description, p_line.transaction_id, p_line.amount, p_line.currency, p_line.balance_after, p_line.journal_id,
      p_line.test, p_line.hash, p_line.hash_version);
  END IF;
  IF p_event.id IS NOT NULL THEN
    INSERT INTO {{events}} VALUES (p_event.merchant_id, p_event.id, p_event.created, p_event.type, p_event.version,
      p_event.object_id, p_event.pending, p_event.captured, p_event.refunded, p_event.voided, p_event.disputed,
      p_event.trail_length, p_event.data);
  END IF;
END
$$;
