-- distribute: everywhere
-- The app of a key, or no row where the key is unknown, revoked or expired.
CREATE OR REPLACE FUNCTION {{caller_identity}}(p_key_mac bytea)
RETURNS TABLE (identity_id text)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT k.app_id FROM {{app_keys}} k
  WHERE k.mac = p_key_mac AND {{include:is_good_key.sql}};
END
$$;
