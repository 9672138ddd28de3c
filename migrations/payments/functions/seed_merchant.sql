-- distribute: coordinator
-- Inserts a merchant of a seed file with its balance. p_merchant: its fields have the names of the columns. The tag is that of
-- the merchant's id if that tag is free. Otherwise it is random, and ids of the merchant's objects need an alias. Returns false
-- if the merchant exists.
CREATE OR REPLACE FUNCTION {{seed_merchant}}(p_merchant jsonb)
RETURNS boolean
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  made {{merchants}} := jsonb_populate_record(NULL::{{merchants}}, p_merchant);
BEGIN
  PERFORM FROM {{merchants}} m WHERE m.id = made.id;
  IF FOUND THEN RETURN false; END IF;
  made.tag := right(made.id, 8);
  PERFORM FROM {{merchants}} m WHERE m.tag = made.tag;
  IF FOUND THEN made.tag := {{random_tag}}(); END IF;
  made.created := {{created_at}}({{id_number}}(made.id));
  made.tds_mode := 'attempt';
  made.acquirer := NULL;
  INSERT INTO {{merchants}} VALUES (made.*);
  INSERT INTO {{merchant_balances}} (merchant_id, currency, last_id)
    VALUES (made.id, made.currency, left(made.id, 16) || made.tag);
  PERFORM {{record_states}}(made.id, 'merchants', ARRAY[made.id]);
  RETURN true;
END
$$;
