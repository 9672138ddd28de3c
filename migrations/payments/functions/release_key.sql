-- Deletes the row of a claimed key, for a refusal that is not remembered.
CREATE OR REPLACE FUNCTION {{release_key}}(p_caller {{caller}}, p_merchant_id text, p_identity_id text)
RETURNS void
LANGUAGE sql
AS $$
DELETE FROM {{idempotency}} i
  WHERE {{include:scope_of_key.sql}}
$$;
