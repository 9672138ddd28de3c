-- distribute: coordinator
-- Stores rates of the European Central Bank. p_rates: [{date, currency, rate}, ...], at most one for each date and currency. A
-- rate replaces an existing rate.
--
-- Replaced rates go to the audit log first: `ledger verify` needs the rate at which a capture of that day was exchanged.
--
-- Lock order: an advisory lock, the rates. The advisory lock lets only one import at a time read the rates that it replaces. Two
-- concurrent imports would log the same old rate, and no entry would contain the rate that the first import stored.
CREATE OR REPLACE FUNCTION {{import_rates}}(p_rates jsonb)
RETURNS void
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  replaced jsonb;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('{{import_rates}}', 0));
  SELECT jsonb_agg(jsonb_build_object(
      'date', f.date, 'currency', f.currency, 'from', trim_scale(f.rate)::text, 'to', trim_scale(r.rate)::text
    ) ORDER BY f.date, f.currency) INTO replaced
    FROM jsonb_to_recordset(p_rates) AS r(date date, currency text, rate numeric)
    JOIN {{fx_rates}} f ON f.date = r.date AND f.currency = r.currency AND f.source = 'ecb'
    WHERE f.rate <> round(r.rate, 10);
  IF replaced IS NOT NULL THEN
    PERFORM {{add_audit}}(NULL, NULL, 'fx.replaced', jsonb_build_object('rates', replaced));
  END IF;
  INSERT INTO {{fx_rates}} (date, currency, source, rate)
    SELECT r.date, r.currency, 'ecb', r.rate
    FROM jsonb_to_recordset(p_rates) AS r(date date, currency text, rate numeric)
    ON CONFLICT (date, currency, source) DO UPDATE SET rate = excluded.rate;
END
$$;
