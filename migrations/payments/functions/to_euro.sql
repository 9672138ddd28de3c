-- distribute: everywhere
-- An amount of either sign, in minor units of a currency that the euro has replaced, in minor units of the euro at the fixed
-- rate. Each of these currencies has two decimals, as the euro. (reference: Moving to the euro)
CREATE OR REPLACE FUNCTION {{to_euro}}(p_amount bigint, p_currency text)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT sign(p_amount)::bigint * {{round_half_even}}(abs(p_amount::numeric), {{fixed_rate}}(p_currency, 'infinity'))
$$;
