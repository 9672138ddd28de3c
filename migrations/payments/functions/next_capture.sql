-- What a further capture of p_amount is worth in the merchant's currency: f(captured + x) - f(captured), of the captures at the
-- same rate. Its fee by p_bps goes on from the worth of all captures. So many small captures bring what one large capture brings.
-- No row where there is no rate.
--
-- A capture that the acquirer has rejected does not count, not even while a part of it is still owed: its fee was given back.
-- (reference: When a capture is converted)
CREATE OR REPLACE FUNCTION {{next_capture}}(
  p_held {{transactions}}, p_amount bigint, p_own text, p_day date, p_margin_bps int, p_bps numeric
)
RETURNS TABLE (gross bigint, fee_rate bigint, rate text, rate_date date)
LANGUAGE sql STABLE
AS $$
SELECT worth.gross,
  {{round_half_even}}((before.gross + worth.gross) * p_bps, 10000)
    - {{round_half_even}}(before.gross * p_bps, 10000),
  alone.rate, alone.rate_date
FROM {{exchange}}(p_amount, p_held.currency, p_own, p_day, p_margin_bps) alone
CROSS JOIN LATERAL (
  SELECT
    coalesce(sum(c.amount) FILTER (
      WHERE c.rate IS NOT DISTINCT FROM alone.rate AND c.rate_date IS NOT DISTINCT FROM alone.rate_date
    ), 0)::bigint AS amount,
    coalesce(sum(c.gross), 0) AS gross
  FROM (
    SELECT max(e.amount) AS amount, max(e.gross) AS gross, max(e.rate) AS rate, max(e.rate_date) AS rate_date
    FROM {{trail_entries}} e
    WHERE e.merchant_id = p_held.merchant_id AND e.transaction_id = p_held.id AND e.kind = 'capture'
    GROUP BY CASE WHEN e.amount < 0 THEN right(e.reference, 24) ELSE e.id END
    HAVING min(e.amount) > 0
  ) c
) before
CROSS JOIN LATERAL (
  SELECT whole.amount - earlier.amount AS gross
  FROM {{exchange}}(before.amount + p_amount, p_held.currency, p_own, p_day, p_margin_bps) whole,
    {{exchange}}(before.amount, p_held.currency, p_own, p_day, p_margin_bps) earlier
) worth
$$;
