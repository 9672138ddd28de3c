-- distribute: everywhere
-- Deletes the row of a claimed key after a refusal that is not stored. The client may send the same request again when the cause
-- is gone. Does nothing for a request without a key. (reference: Idempotency-Key)
--
-- Needs no further lock: claim_key has inserted the row in the same database transaction. A request that waits for the key at the
-- primary key claims it after the commit.
CREATE OR REPLACE FUNCTION {{release_key}}(p_caller {{caller}}, p_merchant_id text, p_identity_id text)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  DELETE FROM {{idempotency}} i
    WHERE {{include:scope_of_key.sql}};
END
$$;
