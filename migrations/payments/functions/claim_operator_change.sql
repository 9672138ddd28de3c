-- distribute: coordinator
-- Claims the Idempotency-Key of a change by an operator. The primary key makes a second request wait until the database
-- transaction of the first has ended. p_fingerprint: the digest of method, path and body. (console reference: Changes)
--
-- Verdict: claimed; replayed, with the status and the body of the first response; key-mismatch if the key was used for another
-- request. A refused change leaves no row.
--
-- Also deletes some rows that are older than a day.
--
-- Lock order: the old rows, the row of the key. The function skips old rows that are locked, so a call waits only for its key.
CREATE OR REPLACE FUNCTION {{claim_operator_change}}(p_actor_id text, p_key text, p_fingerprint bytea)
RETURNS TABLE (verdict text, status smallint, body text)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  held {{operator_changes}};
BEGIN
  DELETE FROM {{operator_changes}} o WHERE (o.actor_id, o.key) IN (
    SELECT c.actor_id, c.key FROM {{operator_changes}} c WHERE c.created < now() - interval '24 hours'
      LIMIT 100 FOR UPDATE SKIP LOCKED
  );
  INSERT INTO {{operator_changes}} (actor_id, key, fingerprint, created) VALUES (p_actor_id, p_key, p_fingerprint, now())
    -- A row exists if the operator has used this key before. The code below compares the requests.
    ON CONFLICT DO NOTHING;
  IF FOUND THEN
    verdict := 'claimed';
  ELSE
    SELECT c.* INTO STRICT held FROM {{operator_changes}} c WHERE c.actor_id = p_actor_id AND c.key = p_key;
    verdict := CASE WHEN held.fingerprint = p_fingerprint THEN 'replayed' ELSE 'key-mismatch' END;
    IF verdict = 'replayed' THEN status := held.status; body := held.body; END IF;
  END IF;
  RETURN NEXT;
END
$$;
