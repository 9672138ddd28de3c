-- What the clock of a merchant says. Test merchants may let time pass: everything that falls due for a merchant is judged by this
-- clock.
CREATE OR REPLACE FUNCTION {{merchant_now}}(p_merchant_id text)
RETURNS timestamptz
LANGUAGE sql
AS $$
SELECT date_trunc('milliseconds', clock_timestamp()) + b.clock_offset * interval '1 second'
FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id
$$;
