-- distribute: everywhere
-- Checks who calls, which merchant is meant and whether the caller is a member, in this order. p_merchant_id: the merchant of the
-- path or of the object; NULL if the object does not exist.
--
-- Verdict: unauthorized, not-found, forbidden or done. (reference: Access)
CREATE OR REPLACE FUNCTION {{judge_access}}(p_caller {{caller}}, p_merchant_id text, OUT verdict text, OUT identity_id text)
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_variable
BEGIN
  SELECT c.identity_id INTO identity_id
    FROM ({{include:caller_identity.sql key_mac => p_caller.key_mac, user_email => p_caller.user_email}}) c;
  SELECT {{include:access_verdict.sql identity_id => identity_id, is_found => m.id IS NOT NULL,
      is_allowed => s.merchant_id IS NOT NULL}} INTO verdict
    FROM (SELECT) one
    LEFT JOIN {{merchants}} m ON m.id = p_merchant_id
    LEFT JOIN LATERAL ({{include:membership.sql merchant_id => m.id, identity_id => identity_id}}) s ON true;
END
$$;
