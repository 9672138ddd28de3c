-- distribute: everywhere
-- Returns the flat fee of a movement, in minor units of p_currency, the funding currency of the transaction. p_kind: capture,
-- refund or dispute. A kind without a price is free. NULL if the currency of the price has no rate. decide_operation adds the fee
-- share of a capture. (reference: Fees)
--
-- Returns a table, because PostgreSQL can then plan it with the statement of its caller.
CREATE OR REPLACE FUNCTION {{flat_fee}}(p_kind text, p_pricing jsonb, p_currency text, p_date date)
RETURNS TABLE (amount bigint)
LANGUAGE sql STABLE
AS $$
SELECT
  CASE WHEN price.flat IS NULL THEN 0 ELSE (
    SELECT e.amount FROM {{exchange}}(
      (price.flat ->> 'amount')::bigint, price.flat ->> 'currency', p_currency, p_date, 0
    ) e
  ) END
FROM (SELECT p_pricing -> CASE p_kind WHEN 'capture' THEN 'flat' ELSE p_kind END) AS price (flat)
$$;
