-- distribute: everywhere
-- Records a changed merchant and adds the event. The event contains the present merchant with its balance, because later changes
-- must not appear in it.
CREATE OR REPLACE FUNCTION {{record_merchant_update}}(p_merchant_id text)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  merchant {{merchants}};
  held bigint;
BEGIN
  PERFORM {{record_states}}(p_merchant_id, 'merchants', ARRAY[p_merchant_id]);
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  SELECT b.balance INTO held FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id;
  PERFORM {{record_event}}(
    p_merchant_id, 'merchant.updated', p_merchant_id, to_jsonb(merchant) || jsonb_build_object('balance', held)
  );
END
$$;
