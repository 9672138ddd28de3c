-- distribute: everywhere
-- Exchanges an amount in minor units, reduced by a margin in basis points, and rounds once. rate and rate_date: as in
-- exchange_ratio. No row if either currency has no rate. (reference: Conversion)
--
-- Written in PL/pgSQL for the reason that exchange_ratio gives.
CREATE OR REPLACE FUNCTION {{exchange}}(p_amount bigint, p_from text, p_to text, p_date date, p_margin_bps int)
RETURNS TABLE (amount bigint, rate text, rate_date date)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_variable
DECLARE
  numerator numeric;
  denominator numeric;
BEGIN
  amount := p_amount;
  IF p_from = p_to THEN RETURN NEXT; RETURN; END IF;
  SELECT r.numerator, r.denominator, r.rate, r.rate_date INTO numerator, denominator, rate, rate_date
    FROM {{exchange_ratio}}(p_from, p_to, p_date, p_margin_bps) r;
  IF NOT FOUND THEN RETURN; END IF;
  amount := {{round_half_even}}(p_amount * numerator, denominator);
  RETURN NEXT;
END
$$;
