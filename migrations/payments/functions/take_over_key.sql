-- distribute: everywhere
-- Gives the Idempotency-Key of a refused order to another order. Nobody calls the checkout with credentials, so a stranger's
-- refused order would otherwise keep a customer from paying. False when the order under the key is paid or running: it holds the
-- key against all. False too when this very order was refused under the key meanwhile: the caller replays that refusal.
-- (reference: Idempotency-Key)
--
-- Locks the row of the key. A call that waits for the lock looks at the row again, so one of several orders gets the key.
CREATE OR REPLACE FUNCTION {{take_over_key}}(p_caller {{caller}}, p_merchant_id text, p_identity_id text)
RETURNS boolean
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  -- A distributed database refuses an UPDATE that reads the clock.
  now_ms timestamptz := date_trunc('milliseconds', clock_timestamp());
BEGIN
  UPDATE {{idempotency}} i
    SET fingerprint = p_caller.fingerprint, status = NULL, error_code = NULL, object_id = NULL, body = NULL,
      created = now_ms
    WHERE {{include:scope_of_key.sql}} AND i.status = 400 AND i.fingerprint <> p_caller.fingerprint;
  RETURN FOUND;
END
$$;
