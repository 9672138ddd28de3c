-- Claims the idempotency key of a request, in the database transaction of the request's effect. The primary key makes a second
-- request with the key wait until the first one ends, at most 5 s. After 24 hours a key can be used again.
--
-- p_caller: the sender and the idempotency key, path and hash of the request. Returns one verdict:
--   claimed: the request may take effect.
--   replayed: the same request took effect before; returns its stored response.
--   key-mismatch: the key was used for another request. The response of that request is not returned.
--   key-running: the first request is still running.
CREATE OR REPLACE FUNCTION {{claim_key}}(
  p_caller {{caller}}, OUT verdict text, OUT status integer, OUT headers json, OUT body json
)
RETURNS record
LANGUAGE plpgsql
SET lock_timeout = '5s'
AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO {{idempotency_keys}} AS k (subject, key, path, request_hash)
    VALUES (coalesce(p_caller.actor, ''), p_caller.key, p_caller.path, p_caller.request_hash)
    ON CONFLICT (subject, key) DO UPDATE
      SET path = EXCLUDED.path, request_hash = EXCLUDED.request_hash, status = NULL, headers = NULL, body = NULL,
        created_at = EXCLUDED.created_at
      WHERE k.created_at < clock_timestamp() - interval '24 hours';
  IF FOUND THEN
    verdict := 'claimed';
    RETURN;
  END IF;
  SELECT 'replayed', k.status, k.headers, k.body INTO verdict, status, headers, body
    FROM {{idempotency_keys}} k
    WHERE k.subject = coalesce(p_caller.actor, '') AND k.key = p_caller.key
      AND k.path = p_caller.path AND k.request_hash = p_caller.request_hash;
  IF NOT FOUND THEN verdict := 'key-mismatch'; END IF;
EXCEPTION WHEN lock_not_available THEN
  verdict := 'key-running';
END
$$;
