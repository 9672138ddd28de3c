-- distribute: everywhere
-- Gives the Idempotency-Key of a refused order to another order. The checkout needs no credentials, so otherwise a stranger could
-- block a customer's key with a refused order. Returns false if the order of the key is paid or running: then no other order gets
-- the key. Also returns false if this same order was refused under the key meanwhile: the caller then returns that refusal.
-- (reference: Idempotency-Key)
--
-- Locks the row of the key. A call that waits for the lock reads the row again, so only one of several orders gets the key.
CREATE OR REPLACE FUNCTION {{take_over_key}}(p_caller {{caller}}, p_merchant_id text, p_identity_id text)
RETURNS boolean
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  -- A distributed database refuses an UPDATE that calls clock_timestamp().
  now_ms timestamptz := date_trunc('milliseconds', clock_timestamp());
BEGIN
  UPDATE {{idempotency}} i
    SET fingerprint = p_caller.fingerprint, status = NULL, error_code = NULL, object_id = NULL, body = NULL,
      created = now_ms
    WHERE {{include:scope_of_key.sql}} AND i.status = 400 AND i.fingerprint <> p_caller.fingerprint;
  RETURN FOUND;
END
$$;
