-- distribute: everywhere
-- The rate that applies on a day: that of the latest date up to the day, or the first rate for a day before all dates. For one
-- date, an imported rate has precedence over the embedded one. The euro is the base, 1 on every day. No row when the currency
-- has no rate. (reference: Exchange rates)
--
-- The kuna and the lev ended with the euro of their countries, at rates that the law fixed for good. After their last day these
-- rates apply to what was authorized before, whatever was imported.
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
