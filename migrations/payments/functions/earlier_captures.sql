-- distribute: everywhere
-- What a transaction has captured before, for the worth of its next capture: amount, what was captured at the rate p_rate of
-- p_rate_date, in minor units of the transaction; gross, what all captures were worth in the merchant's currency.
--
-- A capture that the acquirer has rejected does not count, not even while a part of it is still owed: its fee was given back.
-- (reference: When a capture is converted)
CREATE OR REPLACE FUNCTION {{earlier_captures}}(p_held {{transactions}}, p_rate text, p_rate_date date)
RETURNS TABLE (amount bigint, gross numeric)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT
    coalesce(sum(c.amount) FILTER (
      WHERE c.rate IS NOT DISTINCT FROM p_rate AND c.rate_date IS NOT DISTINCT FROM p_rate_date
    ), 0)::bigint,
    coalesce(sum(c.gross), 0)
  FROM (
    SELECT max(e.amount) AS amount, max(e.gross) AS gross, max(e.rate) AS rate, max(e.rate_date) AS rate_date
    FROM {{trail_entries}} e
    WHERE e.merchant_id = p_held.merchant_id AND e.transaction_id = p_held.id AND e.kind = 'capture'
    GROUP BY CASE WHEN e.amount < 0 THEN right(e.reference, 24) ELSE e.id END
    HAVING min(e.amount) > 0
  ) c;
END
$$;
