-- distribute: everywhere
-- What open disputes of a merchant would take from its balance if all were lost. (reference: Available amount)
CREATE OR REPLACE FUNCTION {{dispute_reserve}}(p_merchant_id text)
RETURNS bigint
LANGUAGE sql STABLE
AS $$
SELECT coalesce(sum({{reversal_gross}}(
  t.merchant_id, t.id, t.refunded + t.lost, t.disputed - t.lost
)), 0)::bigint
FROM (
  SELECT DISTINCT d.transaction_id FROM {{disputes}} d
  WHERE d.merchant_id = p_merchant_id AND d.status = 'open'
) open
JOIN {{transactions}} t ON t.merchant_id = p_merchant_id AND t.id = open.transaction_id
$$;
