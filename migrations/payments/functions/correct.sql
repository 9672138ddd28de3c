-- distribute: everywhere
-- Posts a correction of an entry, with the kind, rate and fees of that entry. Returns the transaction afterwards. p_held: the
-- locked transaction. p_amount: negative to take p_entry back, positive to book it again. p_gross: the worth in the funding
-- currency, with the same sign. p_fee_sign: -1 gives the fees back, 1 takes them again, 0 leaves them.
--
-- Lock order: the transaction (locked by the caller), the balance, the rows of the new entry. Every function that changes the
-- money of a transaction locks the transaction before the balance, which prevents deadlocks. Nobody else sees the new rows yet.
CREATE OR REPLACE FUNCTION {{correct}}(
  p_held {{transactions}}, p_entry {{trail_entries}}, p_amount bigint, p_gross bigint, p_fee_sign int
)
RETURNS {{transactions}}
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  moved {{movement}};
  posted record;
  after {{transactions}};
BEGIN
  UPDATE {{transactions}} t SET
      pending = t.pending - CASE WHEN p_entry.kind = 'refund' THEN 0 ELSE p_amount END,
      captured = t.captured + CASE WHEN p_entry.kind = 'capture' THEN p_amount ELSE 0 END,
      refunded = t.refunded + CASE WHEN p_entry.kind = 'refund' THEN p_amount ELSE 0 END,
      voided = t.voided + CASE WHEN p_entry.kind = 'void' THEN p_amount ELSE 0 END,
      trail_length = t.trail_length + 1
    WHERE t.merchant_id = p_held.merchant_id AND t.id = p_held.id RETURNING t.* INTO after;
  moved := jsonb_populate_record(NULL::{{movement}}, to_jsonb(after));
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
  SELECT p.* INTO posted FROM {{post}}(ARRAY[moved]) p;
  -- The acquirer has already carried out an operation that is booked again, so nothing is handed over.
  DELETE FROM {{outbox}} o
    WHERE o.merchant_id = after.merchant_id AND o.id = posted.entry_id AND o.kind = 'acquirer';
  DELETE FROM {{acquirer_operations}} o
    WHERE o.merchant_id = after.merchant_id AND o.id = posted.entry_id;
  -- If the correction makes an amount pending again, that amount can expire again.
  UPDATE {{merchant_balances}} b SET expired_id = left(after.id, 16)
    WHERE b.merchant_id = after.merchant_id AND b.expired_id >= after.id AND after.pending > p_held.pending;
  RETURN after;
END
$$;
