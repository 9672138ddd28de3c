-- distribute: coordinator
-- Stores the content of a batch's files, for an operator whose login may not write the table. p_payouts: the ids, merchants and
-- account holders in the file. p_form: the version of pain.001 and the payment date for the bank. p_digest: SHA-256 of the
-- content of the files. (reference: Bank files)
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
