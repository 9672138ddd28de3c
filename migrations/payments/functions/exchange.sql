-- Exchanges an amount in minor units, lessened by a margin in basis points, and rounds once. rate: units of p_to for one of
-- p_from after the margin, to 10 decimals, for showing. rate_date: the older of the two days that were used. Both are NULL for
-- the same currency, which is not exchanged at all. No row when either currency has no rate.
--
-- PL/pgSQL on purpose: written into its caller, an SQL function would make a plan of some sixty steps, which takes longer to set
-- up than a capture takes, even where nothing is exchanged or one side is the euro. (reference: Conversion)
CREATE OR REPLACE FUNCTION {{exchange}}(p_amount bigint, p_from text, p_to text, p_date date, p_margin_bps int)
RETURNS TABLE (amount bigint, rate text, rate_date date)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_variable
DECLARE
  sold numeric := 1; sold_date date := p_date;
  bought numeric := 1; bought_date date := p_date;
BEGIN
  amount := p_amount;
  IF p_from = p_to THEN RETURN NEXT; RETURN; END IF;
  IF p_from <> 'EUR' THEN
    SELECT r.rate, r.date INTO sold, sold_date FROM {{fx_rate}}(p_from, p_date) r;
  END IF;
  IF p_to <> 'EUR' THEN
    SELECT r.rate, r.date INTO bought, bought_date FROM {{fx_rate}}(p_to, p_date) r;
  END IF;
  IF sold IS NULL OR bought IS NULL THEN RETURN; END IF;
  sold := sold * 10000;
  bought := bought * (10000 - p_margin_bps);
  amount := {{round_half_even}}(
    p_amount * ('1e' || {{currency_exponent}}(p_to))::numeric * bought,
    ('1e' || {{currency_exponent}}(p_from))::numeric * sold
  );
  rate := trim_scale({{round_half_even}}(bought * 1e10, sold) * 0.0000000001)::text;
  rate_date := least(sold_date, bought_date);
  RETURN NEXT;
END
$$;
