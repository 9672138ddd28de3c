-- distribute: coordinator
-- Revokes an API key of the calling app. is_last: the key is the last valid key of the app, so it was not revoked.
--
-- Verdict: unauthorized, not-found or done. (reference: Keys of an app)
--
-- Lock order: the app, its keys. Every call that creates or revokes a key locks the app first, so two calls cannot deadlock.
CREATE OR REPLACE FUNCTION {{revoke_key}}(p_key_mac bytea, p_key_id text)
RETURNS TABLE (verdict text, identity_id text, is_last boolean)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
BEGIN
  {{include:lock_keys_of_caller.sql}}
  IF identity_id IS NULL THEN verdict := 'unauthorized'; RETURN NEXT; RETURN; END IF;
  PERFORM FROM {{app_keys}} k
    WHERE k.id = p_key_id AND k.app_id = identity_id AND {{include:is_good_key.sql key => k}};
  verdict := CASE WHEN FOUND THEN 'done' ELSE 'not-found' END;
  is_last := NOT EXISTS (
    SELECT FROM {{app_keys}} k
    WHERE k.app_id = identity_id AND k.id <> p_key_id AND {{include:is_good_key.sql key => k}}
  );
  IF verdict = 'done' AND NOT is_last THEN
    UPDATE {{app_keys}} k SET revoked = now() WHERE k.app_id = identity_id AND k.id = p_key_id;
    PERFORM {{add_audit}}(NULL, identity_id, 'key.revoked', jsonb_build_object('id', p_key_id));
  END IF;
  RETURN NEXT;
END
$$;
