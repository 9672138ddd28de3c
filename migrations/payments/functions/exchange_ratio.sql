-- distribute: everywhere
-- Returns the worth of one minor unit of p_from in minor units of p_to, reduced by a margin in basis points: numerator divided by
-- denominator. rate: units of p_to for one unit of p_from after the margin, with 10 decimals, for display. rate_date: the older
-- of the two days whose rates were used. Both are NULL if the currencies are equal: then the ratio is 1. No row if either
-- currency has no rate.
--
-- Written in PL/pgSQL, because the planner would inline an SQL function into its caller as a plan of some sixty steps. Starting
-- that plan takes longer than a capture, even if nothing is exchanged or one side is the euro. (reference: Conversion)
CREATE OR REPLACE FUNCTION {{exchange_ratio}}(p_from text, p_to text, p_date date, p_margin_bps int)
RETURNS TABLE (numerator numeric, denominator numeric, rate text, rate_date date)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_variable
DECLARE
  sold numeric := 1; sold_date date := p_date;
  bought numeric := 1; bought_date date := p_date;
BEGIN
  numerator := 1;
  denominator := 1;
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
  numerator := ('1e' || {{currency_exponent}}(p_to))::numeric * bought;
  denominator := ('1e' || {{currency_exponent}}(p_from))::numeric * sold;
  rate := trim_scale({{round_half_even}}(bought * 1e10, sold) * 0.0000000001)::text;
  rate_date := least(sold_date, bought_date);
  RETURN NEXT;
END
$$;
