-- distribute: everywhere
-- Judges who calls, which merchant is meant and whether the caller is a member, in this order. p_merchant_id: that of the path,
-- or the merchant of the object; NULL when there is no such object.
--
-- Verdict: unauthorized, not-found, forbidden or done. (reference: Access)
CREATE OR REPLACE FUNCTION {{judge_access}}(p_caller {{caller}}, p_merchant_id text, OUT verdict text, OUT identity_id text)
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_variable
BEGIN
  SELECT i.identity_id INTO identity_id FROM {{identify}}(p_caller.key_mac, p_caller.user_email) i;
  SELECT CASE
      WHEN identity_id IS NULL THEN 'unauthorized'
      WHEN m.id IS NULL THEN 'not-found'
      WHEN s.merchant_id IS NULL THEN 'forbidden'
      ELSE 'done'
    END INTO verdict
    FROM (SELECT) one
    LEFT JOIN {{merchants}} m ON m.id = p_merchant_id
    LEFT JOIN LATERAL {{membership}}(m.id, identity_id) s ON true;
END
$$;
