-- distribute: coordinator
-- Claims the Idempotency-Key of a change of an operator. The primary key makes a second request wait until the transaction of the
-- first has ended. p_fingerprint: the digest of method, path and body. (console reference: Changes)
--
-- Verdict: claimed; replayed, with the status and the body of the first answer; key-mismatch when the key was used for another
-- request. A change that was refused has left no row.
--
-- Also deletes some rows that are older than a day. Rows that somebody holds stay.
--
-- Lock order: the old rows, the row of the key. Old rows that somebody holds are skipped, so a call waits for its key alone.
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
    -- A key that the operator has used has a row. Its first request is judged below.
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
