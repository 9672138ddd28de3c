-- distribute: coordinator
-- Adds a key to the calling app. p_key_mac: the key of the call. p_new_mac and p_hint: the new key; NULL to check only access.
--
-- Verdict: unauthorized; forbidden if the caller is not an app; replayed, with the key that the same request created before;
-- key-spent if that key has been revoked since; done. The service derives the same key from the same request, so an idempotent
-- request finds its key here. (reference: Keys of an app)
--
-- Lock order: the app, the new key. Every call that creates or revokes a key locks the app first, which prevents deadlocks.
CREATE OR REPLACE FUNCTION {{create_key}}(p_key_mac bytea, p_new_mac bytea, p_hint text)
RETURNS TABLE (verdict text, identity_id text, id text, created timestamptz)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
BEGIN
  {{include:lock_keys_of_caller.sql}}
  verdict := CASE
    WHEN identity_id IS NULL THEN 'unauthorized'
    WHEN EXISTS (SELECT FROM {{apps}} a WHERE a.id = identity_id) THEN 'done'
    ELSE 'forbidden'
  END;
  IF verdict = 'done' AND p_new_mac IS NOT NULL THEN
    SELECT k.id, k.created, CASE WHEN k.revoked IS NULL THEN 'replayed' ELSE 'key-spent' END
      INTO id, created, verdict
      FROM {{app_keys}} k WHERE k.mac = p_new_mac AND k.app_id = identity_id;
    verdict := coalesce(verdict, 'done');
  END IF;
  IF verdict = 'done' AND p_new_mac IS NOT NULL THEN
    SELECT made.* INTO id, created FROM {{new_id}}({{random_tag}}()) made;
    INSERT INTO {{app_keys}} (id, app_id, mac, hint, created)
      VALUES (id, identity_id, p_new_mac, p_hint, created);
    PERFORM {{add_audit}}(NULL, identity_id, 'key.created', jsonb_build_object('id', id));
  END IF;
  RETURN NEXT;
END
$$;
