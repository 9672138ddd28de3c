-- distribute: everywhere
-- The fees of a movement. p_kind: capture, refund or dispute. p_gross and both results are minor units of p_currency, the funding
-- currency of the transaction. A kind without a price is free. flat is NULL when its currency has no rate. (reference: Fees)
CREATE OR REPLACE FUNCTION {{operation_fee}}(p_kind text, p_gross bigint, p_pricing jsonb, p_currency text, p_date date)
RETURNS TABLE (flat bigint, rate bigint)
LANGUAGE sql STABLE
AS $$
SELECT
  CASE WHEN price.flat IS NULL THEN 0 ELSE (
    SELECT e.amount FROM {{exchange}}(
      (price.flat ->> 'amount')::bigint, price.flat ->> 'currency', p_currency, p_date, 0
    ) e
  ) END,
  CASE p_kind WHEN 'capture'
    THEN {{round_half_even}}(p_gross * (p_pricing ->> 'rate')::numeric, 10000) ELSE 0 END
FROM (SELECT p_pricing -> CASE p_kind WHEN 'capture' THEN 'flat' ELSE p_kind END) AS price (flat)
$$;
