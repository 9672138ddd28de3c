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
  SELECT c.id INTO identity_id FROM (
    SELECT k.app_id AS id FROM {{app_keys}} k WHERE k.mac = p_caller.key_mac AND {{include:is_good_key.sql}}
    UNION ALL
    SELECT u.id FROM {{users}} u WHERE lower(u.email) = lower(p_caller.user_email)
  ) c;
  SELECT CASE
      WHEN identity_id IS NULL THEN 'unauthorized'
      WHEN m.id IS NULL THEN 'not-found'
      WHEN s.merchant_id IS NULL THEN 'forbidden'
      ELSE 'done'
    END INTO verdict
    FROM (SELECT) one
    LEFT JOIN {{merchants}} m ON m.id = p_merchant_id
    LEFT JOIN LATERAL (
      SELECT a.merchant_id FROM {{merchant_apps}} a
      WHERE a.merchant_id = m.id AND a.app_id = identity_id AND NOT a.pending
      UNION ALL
      SELECT u.merchant_id FROM {{merchant_users}} u
      WHERE u.merchant_id = m.id AND u.user_id = identity_id AND NOT u.pending
    ) s ON true;
END
$$;
