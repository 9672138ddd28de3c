-- distribute: everywhere
-- The caller: the app of a key, or the user of a verified email address. No row for an unknown caller.
CREATE OR REPLACE FUNCTION {{identify}}(p_key_mac bytea, p_user_email text)
RETURNS TABLE (identity_id text)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT c.identity_id FROM {{caller_identity}}(p_key_mac) c
  UNION ALL
  SELECT u.id FROM {{users}} u WHERE lower(u.email) = lower(p_user_email);
END
$$;
