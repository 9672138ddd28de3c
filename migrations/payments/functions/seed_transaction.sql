-- distribute: coordinator
-- Inserts a transaction of a seed file by add_transaction. Returns false for a live merchant: no acquirer has the transaction.
CREATE OR REPLACE FUNCTION {{seed_transaction}}(p_merchant_id text, p_transaction jsonb, p_card jsonb)
RETURNS boolean
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  PERFORM FROM {{merchants}} m WHERE m.id = p_merchant_id AND m.test;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM {{add_transaction}}(p_merchant_id, p_transaction, p_card);
  RETURN true;
END
$$;
