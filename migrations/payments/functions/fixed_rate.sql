-- distribute: everywhere
-- Returns the units for one euro that the law fixed when the euro replaced a currency, if p_date is after the currency's last
-- day. NULL before, and for other currencies. (reference: Exchange rates)
CREATE OR REPLACE FUNCTION {{fixed_rate}}(p_currency text, p_date date)
RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT CASE
  WHEN p_currency = 'HRK' AND p_date > '2022-12-31' THEN 7.53450
  WHEN p_currency = 'BGN' AND p_date > '2025-12-31' THEN 1.95583
END
$$;
