-- distribute: everywhere
-- Converts an amount of a currency that the euro has replaced to the euro at the fixed rate. Both amounts are in minor units and
-- may be negative. Each of these currencies has two decimals, like the euro. (reference: Moving to the euro)
CREATE OR REPLACE FUNCTION {{to_euro}}(p_amount bigint, p_currency text)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT sign(p_amount)::bigint * {{round_half_even}}(abs(p_amount::numeric), {{fixed_rate}}(p_currency, 'infinity'))
$$;
