-- distribute: coordinator
-- Claims the Idempotency-Key of a request that creates a merchant. The merchant does not exist yet, so the key belongs to the
-- caller. The primary key makes a second request wait for the first.
--
-- Verdict: claimed, also without a key; replayed, with the merchant as created; key-mismatch if the key was used with another
-- body; forbidden if the caller is no longer a member of the merchant.
CREATE OR REPLACE FUNCTION {{claim_creation}}(
  p_caller {{caller}}, p_identity_id text, OUT verdict text, OUT merchant {{merchants}}
)
LANGUAGE plpgsql
AS $$
#variable_conflict use_variable
DECLARE
  held {{merchant_creations}};
BEGIN
  verdict := 'claimed';
  IF p_caller.key IS NULL THEN RETURN; END IF;
  INSERT INTO {{merchant_creations}} (identity_id, key, fingerprint, created)
    VALUES (p_identity_id, p_caller.key, p_caller.fingerprint, now())
    -- A row exists if the caller has used this key before. The code below compares the requests.
    ON CONFLICT DO NOTHING;
  IF FOUND THEN RETURN; END IF;
  SELECT c.* INTO held FROM {{merchant_creations}} c
    WHERE c.identity_id = p_identity_id AND c.key = p_caller.key;
  merchant := jsonb_populate_record(NULL::{{merchants}}, held.body);
  PERFORM FROM ({{include:membership.sql merchant_id => merchant.id, identity_id => p_identity_id}}) s;
  verdict := CASE
    WHEN NOT FOUND THEN 'forbidden'
    WHEN held.fingerprint <> p_caller.fingerprint THEN 'key-mismatch'
    ELSE 'replayed'
  END;
END
$$;
