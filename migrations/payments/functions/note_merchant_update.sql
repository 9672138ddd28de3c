-- distribute: everywhere
-- Records a changed merchant and adds the event. The event contains the merchant as it is now, with its balance: later changes
-- must not show in it.
CREATE OR REPLACE FUNCTION {{note_merchant_update}}(p_merchant {{merchants}})
RETURNS void
LANGUAGE sql
AS $$
SELECT {{record_states}}(p_merchant.id, 'merchants', ARRAY[p_merchant.id]);
SELECT {{note_event}}(
  b.merchant_id, 'merchant.updated', b.merchant_id,
  to_jsonb(p_merchant) || jsonb_build_object('balance', b.balance)
)
FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant.id
$$;
