-- distribute: everywhere
-- Returns whether no price is negative and the fee share of a capture is at most 100 %. p_pricing: the column of merchants.
CREATE OR REPLACE FUNCTION {{are_prices}}(p_pricing jsonb)
RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$
SELECT coalesce((p_pricing ->> 'rate')::numeric, 0) BETWEEN 0 AND 10000 AND NOT EXISTS (
  SELECT FROM jsonb_each(p_pricing) AS price (name, flat)
  WHERE price.name <> 'rate' AND coalesce((price.flat ->> 'amount')::numeric, 0) < 0
)
$$;
