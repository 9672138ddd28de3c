-- distribute: everywhere
-- Whether a live merchant has or had an acquirer. False for a test merchant and an unknown one.
CREATE OR REPLACE FUNCTION {{has_acquirer}}(p_merchant_id text, p_acquirer text)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
BEGIN
  RETURN coalesce((
    SELECT NOT m.test AND (m.acquirer = p_acquirer OR EXISTS (
      SELECT FROM {{transactions}} t WHERE t.merchant_id = p_merchant_id AND t.acquirer = p_acquirer
    )) FROM {{merchants}} m WHERE m.id = p_merchant_id
  ), false);
END
$$;
