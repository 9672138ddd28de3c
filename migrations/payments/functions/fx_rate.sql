-- distribute: everywhere
-- Returns the rate that applies on a day: the rate of the latest date up to the day, or the first rate for a day before all
-- dates. For one date, an imported rate has precedence over the embedded rate. The euro is the base, with rate 1 on every day. No
-- row if the currency has no rate. (reference: Exchange rates)
--
-- The euro replaced the kuna and the lev at rates that the law fixed. After the last day of these currencies, the fixed rates
-- apply to earlier authorizations, whatever was imported.
CREATE OR REPLACE FUNCTION {{fx_rate}}(p_currency text, p_date date)
RETURNS TABLE (rate numeric, date date)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_column
BEGIN
  IF p_currency = 'EUR' THEN
    RETURN QUERY SELECT 1::numeric, p_date;
    RETURN;
  END IF;
  IF {{fixed_rate}}(p_currency, p_date) IS NOT NULL THEN
    RETURN QUERY SELECT {{fixed_rate}}(p_currency, p_date), p_date;
    RETURN;
  END IF;
  RETURN QUERY SELECT r.rate, r.date FROM {{fx_rates}} r
    WHERE r.currency = p_currency AND r.date <= p_date
    ORDER BY r.date DESC, r.source = 'embedded' LIMIT 1;
  IF NOT FOUND THEN
    RETURN QUERY SELECT r.rate, r.date FROM {{fx_rates}} r
      WHERE r.currency = p_currency AND r.date > p_date
      ORDER BY r.date ASC, r.source = 'embedded' LIMIT 1;
  END IF;
END
$$;
