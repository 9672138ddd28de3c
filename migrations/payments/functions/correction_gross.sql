-- distribute: everywhere
-- Returns the change of worth if an operation becomes smaller by p_less units: the difference between the booked worth in the
-- trail and the worth of the rest. In the transaction's funding currency, with the sign of an entry's gross. p_kind and
-- p_entry_id: the kind and the entry of the operation. A void has no worth. (reference: Worth of a correction)
CREATE OR REPLACE FUNCTION {{correction_gross}}(p_held {{transactions}}, p_kind text, p_entry_id text, p_less bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  captured_less bigint := CASE p_kind WHEN 'capture' THEN p_less ELSE 0 END;
  refunded_less bigint := CASE p_kind WHEN 'refund' THEN p_less ELSE 0 END;
  booked bigint;
  rest bigint;
BEGIN
  IF p_kind = 'void' THEN RETURN 0; END IF;
  SELECT coalesce(sum(CASE e.kind WHEN 'capture' THEN e.gross ELSE -e.gross END), 0)::bigint INTO booked
    FROM {{trail_entries}} e
    WHERE e.merchant_id = p_held.merchant_id AND e.transaction_id = p_held.id
      AND e.kind IN ('capture', 'refund', 'disputeLost');
  -- The rest is 0 if all captures are rejected.
  rest := coalesce((
    SELECT {{captured_value}}(n.amounts, n.grosses, p_held.captured - captured_less)
      - {{captured_value}}(n.amounts, n.grosses, p_held.refunded + p_held.lost - refunded_less)
    FROM {{net_captures}}(p_held.merchant_id, ARRAY[p_held.id], p_entry_id, captured_less) n
  ), 0);
  RETURN CASE p_kind WHEN 'capture' THEN rest - booked ELSE booked - rest END;
END
$$;
