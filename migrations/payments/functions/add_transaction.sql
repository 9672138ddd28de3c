-- distribute: coordinator
-- Inserts a transaction with given values and its card, authorized in full. p_transaction and p_card: their fields have the names
-- of the columns.
--
-- An id that does not end in the merchant's tag is added as an alias. Later ids of the merchant continue from the greatest id,
-- even if it is ahead of the clock. The command `seed` refuses an id that is more than a minute ahead.
CREATE OR REPLACE FUNCTION {{add_transaction}}(p_merchant_id text, p_transaction jsonb, p_card jsonb)
RETURNS void
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  merchant {{merchants}};
  made {{transactions}} := jsonb_populate_record(NULL::{{transactions}}, p_transaction);
  card {{instruments}} := jsonb_populate_record(NULL::{{instruments}}, p_card);
BEGIN
  PERFORM 1 FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  SELECT m.* INTO STRICT merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  INSERT INTO {{instruments}}
    (merchant_id, id, created, pan_sealed, key_id, pan_mac, bin, last4, expiry, scheme, scenario)
    VALUES (p_merchant_id, card.id, {{created_at}}({{id_number}}(card.id)), card.pan_sealed,
      card.key_id, card.pan_mac, card.bin, card.last4, card.expiry, card.scheme, card.scenario);
  INSERT INTO {{transactions}} (merchant_id, id, created, instrument_id, test, currency, funding_currency, amount,
    descriptor, pending, recurring, successful, code_present, last4, acquirer, acquirer_ref)
    VALUES (p_merchant_id, made.id,
      coalesce(made.created, {{created_at}}({{id_number}}(made.id))), card.id, merchant.test,
      made.currency, merchant.currency, made.amount, merchant.descriptor, made.amount, false, true, true,
      card.last4, made.acquirer, made.acquirer_ref);
  IF right(made.id, 8) <> merchant.tag THEN
    INSERT INTO {{id_aliases}} (id, merchant_id) VALUES (made.id, p_merchant_id);
  END IF;
  UPDATE {{merchant_balances}} b SET last_id = greatest(b.last_id, left(made.id, 16) || right(b.last_id, 8))
    WHERE b.merchant_id = p_merchant_id;
  PERFORM {{record_states}}(p_merchant_id, 'transactions', ARRAY[made.id]);
END
$$;
