-- distribute: coordinator
-- Creates an app for a client. p_code_hash: the digest of an invitation code; NULL if no code is needed. The other parameters are
-- as for create_app. (reference: Registration)
--
-- Verdict: closed if an operator has closed registration; not-invited if the code is not valid; done, with the id of the app. A
-- second request with the code waits for the first, and finds the code used.
--
-- Lock order: the registration, the invitation. A call that closes the registration waits for the requests that have found it
-- open.
CREATE OR REPLACE FUNCTION {{register_app}}(p_code_hash bytea, p_key_mac bytea, p_hint text, p_name text)
RETURNS TABLE (verdict text, id text)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  moment timestamptz;
BEGIN
  PERFORM FROM {{registration}} r WHERE NOT r.is_closed FOR SHARE;
  IF NOT FOUND THEN
    verdict := 'closed';
    RETURN NEXT; RETURN;
  END IF;
  IF p_code_hash IS NOT NULL THEN
    -- The invitation may expire while this call waits for its row.
    PERFORM FROM {{app_invitations}} i WHERE i.code_hash = p_code_hash FOR UPDATE;
    moment := date_trunc('milliseconds', clock_timestamp());
    UPDATE {{app_invitations}} i SET used = moment
      WHERE i.code_hash = p_code_hash AND i.used IS NULL AND i.expires > moment;
    IF NOT FOUND THEN
      verdict := 'not-invited';
      RETURN NEXT; RETURN;
    END IF;
  END IF;
  id := {{create_app}}(p_key_mac, p_hint, p_name);
  IF p_code_hash IS NOT NULL THEN
    UPDATE {{app_invitations}} i SET app_id = id WHERE i.code_hash = p_code_hash;
  END IF;
  verdict := 'done';
  RETURN NEXT;
END
$$;
