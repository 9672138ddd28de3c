-- distribute: coordinator
-- Changes the fields of a merchant that an operator decides: claim, pricing, tdsMode, acquirer, iban and holder, if p_change has
-- them. Returns the merchant, or no row if it does not exist.
--
-- Locks the row before the comparison with its record, so that nobody changes the row in between.
--
-- Lock order: the merchant, its balance. The balance comes last, because all other work on the merchant waits for its lock.
-- Another change holds this lock until its record, which may be on another server than the row, is committed.
CREATE OR REPLACE FUNCTION {{change_merchant}}(p_merchant_id text, p_change jsonb)
RETURNS SETOF {{merchants}}
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  merchant {{merchants}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  PERFORM FROM {{merchants}} m WHERE m.id = p_merchant_id FOR NO KEY UPDATE;
  PERFORM 1 FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  PERFORM {{expect_recorded}}(p_merchant_id, 'merchants', ARRAY[p_merchant_id]);
  UPDATE {{merchants}} m SET
      claim = m.claim || coalesce(p_change -> 'claim', '{}'),
      pricing = m.pricing || coalesce(p_change -> 'pricing', '{}'),
      tds_mode = coalesce(p_change ->> 'tdsMode', m.tds_mode),
      acquirer = CASE WHEN p_change ? 'acquirer' THEN p_change ->> 'acquirer' ELSE m.acquirer END,
      iban = CASE WHEN p_change ? 'iban' THEN p_change ->> 'iban' ELSE m.iban END,
      holder = CASE WHEN p_change ? 'holder' THEN p_change ->> 'holder' ELSE m.holder END
    WHERE m.id = p_merchant_id RETURNING m.* INTO merchant;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM {{record_merchant_update}}(p_merchant_id);
  PERFORM {{add_audit}}(p_merchant_id, NULL, 'merchant.changed', p_change);
  RETURN NEXT merchant;
END
$$;
