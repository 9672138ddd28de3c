-- distribute: everywhere
-- Claims the Idempotency-Key of a request below a merchant. The primary key makes a second request wait for the first.
--
-- Verdict: claimed, also without a key; replayed, with the row of the key in held; key-running while the first request waits for
-- an acquirer; key-mismatch if the key was used with another body. (reference: Idempotency-Key)
CREATE OR REPLACE FUNCTION {{claim_key}}(
  p_caller {{caller}}, p_merchant_id text, p_identity_id text, OUT verdict text, OUT held {{idempotency}}
)
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
#variable_conflict use_variable
BEGIN
  verdict := 'claimed';
  IF p_caller.key IS NULL THEN RETURN; END IF;
  INSERT INTO {{idempotency}} (merchant_id, identity_id, method, path, key, fingerprint, created)
    VALUES (p_merchant_id, p_identity_id, p_caller.method, p_caller.path, p_caller.key, p_caller.fingerprint,
      date_trunc('milliseconds', clock_timestamp()))
    -- A row exists if the caller has used this key for this method and path. The code below compares the requests.
    ON CONFLICT DO NOTHING;
  IF FOUND THEN RETURN; END IF;
  SELECT i.* INTO held FROM {{idempotency}} i
    WHERE {{include:scope_of_key.sql}};
  verdict := CASE
    WHEN held.fingerprint <> p_caller.fingerprint THEN 'key-mismatch'
    WHEN held.status IS NULL THEN 'key-running'
    ELSE 'replayed'
  END;
END
$$;
