-- distribute: everywhere
-- Returns the rest of each capture of some transactions after rejections by the acquirer, in order: one row for each transaction
-- with a rest. p_less: the units of the capture p_id that are about to be rejected; NULL and 0 if no capture is. A rest keeps its
-- share of the capture's worth. (reference: Worth of a correction)
CREATE OR REPLACE FUNCTION {{net_captures}}(p_merchant_id text, p_transaction_ids text[], p_id text, p_less bigint)
RETURNS TABLE (transaction_id text, amounts bigint[], grosses bigint[])
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT c.transaction_id, array_agg(c.rest ORDER BY c.seq), array_agg(
    c.gross - {{round_half_even}}(c.gross::numeric * (c.amount - c.rest), c.amount) ORDER BY c.seq
  )
  FROM (
    SELECT e.transaction_id, min(e.seq) AS seq, max(e.amount) AS amount, max(e.gross) FILTER (WHERE e.amount > 0) AS gross,
      (sum(e.amount) - CASE WHEN min(e.id) FILTER (WHERE e.amount > 0) = p_id THEN p_less ELSE 0 END)::bigint AS rest
    FROM {{trail_entries}} e
    WHERE e.merchant_id = p_merchant_id AND e.transaction_id = ANY (p_transaction_ids) AND e.kind = 'capture'
    GROUP BY e.transaction_id, CASE WHEN e.amount < 0 THEN {{reversed_entry}}(e.reference) ELSE e.id END
  ) c
  WHERE c.rest > 0
  GROUP BY c.transaction_id;
END
$$;
