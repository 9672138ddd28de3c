-- distribute: everywhere
-- Returns the worth of p_amount units of a transaction's captures, in its funding currency, if p_reversed units are already
-- reversed.
CREATE OR REPLACE FUNCTION {{reversal_gross}}(p_merchant_id text, p_transaction_id text, p_reversed bigint, p_amount bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
BEGIN
  RETURN coalesce((
    SELECT {{captured_value}}(c.amounts, c.grosses, p_reversed + p_amount)
      - {{captured_value}}(c.amounts, c.grosses, p_reversed)
    FROM {{net_captures}}(p_merchant_id, ARRAY[p_transaction_id], NULL, 0) c
  ), 0);
END
$$;
