-- distribute: everywhere
-- The worth of the first p_amount minor units of a transaction's captures, in the merchant's currency: each capture that they
-- cover in full, and a share of the next one. p_amounts and p_grosses: the captures in order.
--
-- A reversal of x after X is worth f(X + x) - f(X). So the parts of a reversal add up to the whole, however often each is
-- rounded. (reference: Worth of a reversal)
CREATE OR REPLACE FUNCTION {{captured_value}}(p_amounts bigint[], p_grosses bigint[], p_amount bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT coalesce(sum(
  CASE WHEN before + amount <= p_amount THEN gross
    ELSE {{round_half_even}}((p_amount - before) * gross::numeric, amount) END
), 0)::bigint
FROM (
  SELECT amount, gross, sum(amount) OVER (ORDER BY nth) - amount AS before
  FROM unnest(p_amounts, p_grosses) WITH ORDINALITY AS capture (amount, gross, nth)
) captures
WHERE before < p_amount
$$;
