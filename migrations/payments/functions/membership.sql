-- distribute: everywhere
-- One row if an app or a user is a member of a merchant. A user who has not accepted the invitation is no member.
CREATE OR REPLACE FUNCTION {{membership}}(p_merchant_id text, p_identity_id text)
RETURNS TABLE (merchant_id text)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT a.merchant_id FROM {{merchant_apps}} a
  WHERE a.merchant_id = p_merchant_id AND a.app_id = p_identity_id AND NOT a.pending
  UNION ALL
  SELECT u.merchant_id FROM {{merchant_users}} u
  WHERE u.merchant_id = p_merchant_id AND u.user_id = p_identity_id AND NOT u.pending;
END
$$;
