-- distribute: everywhere
-- Returns whether a live merchant has or had an acquirer. False for a test merchant and for an unknown merchant.
--
-- The ORDER BY leaves the planner only the index of acquirers. With another index it would read all transactions of a merchant
-- that never had the acquirer, while the callers hold the lock of the balance.
CREATE OR REPLACE FUNCTION {{has_acquirer}}(p_merchant_id text, p_acquirer text)
RETURNS boolean
LANGUAGE plpgsql STABLE
{{include:hot.sql}}
AS $$
BEGIN
  RETURN coalesce((
    SELECT NOT m.test AND (m.acquirer = p_acquirer OR (
      SELECT t.id FROM {{transactions}} t WHERE t.merchant_id = p_merchant_id AND t.acquirer = p_acquirer
      ORDER BY t.acquirer_ref LIMIT 1
    ) IS NOT NULL) FROM {{merchants}} m WHERE m.id = p_merchant_id
  ), false);
END
$$;
