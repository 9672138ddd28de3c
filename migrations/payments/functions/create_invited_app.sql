-- distribute: coordinator
-- Makes an app where registration needs an invitation, and returns its id. Returns NULL, and makes nothing, unless the code is
-- good. p_code_hash: the digest of the code; the others as for create_app. A second request with the code waits for the
-- first, and finds the code used. (reference: Registration)
CREATE OR REPLACE FUNCTION {{create_invited_app}}(p_code_hash bytea, p_key_mac bytea, p_hint text, p_name text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  made text;
  moment timestamptz := date_trunc('milliseconds', clock_timestamp());
BEGIN
  UPDATE {{app_invitations}} i SET used = moment
    WHERE i.code_hash = p_code_hash AND i.used IS NULL AND i.expires > moment;
  IF NOT FOUND THEN RETURN NULL; END IF;
  made := {{create_app}}(p_key_mac, p_hint, p_name);
  UPDATE {{app_invitations}} i SET app_id = made WHERE i.code_hash = p_code_hash;
  RETURN made;
END
$$;
