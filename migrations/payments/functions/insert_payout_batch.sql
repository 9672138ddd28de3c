-- distribute: coordinator
-- Stores what the file of a batch says, for an operator whose login may not write the table. p_payouts: ids, merchants and the
-- holders of their accounts as the file has them. p_form: the version of pain.001 and the day on which the bank shall pay.
-- p_digest: SHA-256 of what the files say. (reference: Bank files)
CREATE OR REPLACE FUNCTION {{insert_payout_batch}}(
  p_id text, p_created timestamptz, p_debtor jsonb, p_form jsonb, p_payouts jsonb, p_digest bytea
)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  INSERT INTO {{payout_batches}} (id, created, debtor, form, payouts, digest)
    VALUES (p_id, p_created, p_debtor, p_form, p_payouts, p_digest);
$$;
