-- distribute: everywhere
-- Returns the amount that the scheme owes for a merchant's captures in a currency, less refunds and settlements. Adds the entries
-- since the last snapshot to the sum of the snapshot.
CREATE OR REPLACE FUNCTION {{scheme_receivable}}(p_merchant_id text, p_currency text)
RETURNS numeric
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  snapshot record;
  since_id text;
BEGIN
  SELECT s.sum, s.date INTO snapshot FROM {{account_snapshots}} s
    WHERE s.merchant_id = p_merchant_id AND s.account = 'scheme_receivable' AND s.currency = p_currency AND NOT s.test
    ORDER BY s.date DESC LIMIT 1;
  since_id := coalesce({{first_id}}((snapshot.date + 1) AT TIME ZONE 'UTC'), '');
  RETURN -(coalesce(snapshot.sum, 0) + coalesce((
    SELECT sum(e.amount) FROM {{entries}} e
    WHERE e.merchant_id = p_merchant_id AND e.account = 'scheme_receivable' AND e.currency = p_currency AND NOT e.test
      AND e.journal_id >= since_id
  ), 0));
END
$$;
