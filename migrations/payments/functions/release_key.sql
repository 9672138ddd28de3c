-- distribute: everywhere
-- Deletes the row of a claimed key, for a refusal that is not remembered: the client may send the same request again once the
-- cause is gone. Does nothing for a request without a key. (reference: Idempotency-Key)
--
-- Takes no lock that its caller does not have: claim_key has inserted the row in the same transaction. A request that waits for
-- the key at the primary key claims it after the commit.
CREATE OR REPLACE FUNCTION {{release_key}}(p_caller {{caller}}, p_merchant_id text, p_identity_id text)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  DELETE FROM {{idempotency}} i
    WHERE {{include:scope_of_key.sql}};
END
$$;
