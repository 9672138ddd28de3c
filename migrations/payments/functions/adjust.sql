-- distribute: p_merchant_id
-- Books a change of a balance that neither a card nor a bank causes, for an operator. p_amount: minor units of the merchant's
-- currency, below 0 to take money. p_text: the description of the line. Returns no row when there is no such merchant.
-- Each call books anew: an operator has no Idempotency-Key. post locks the balance.
CREATE OR REPLACE FUNCTION {{adjust}}(p_merchant_id text, p_amount bigint, p_text text)
RETURNS TABLE (line_id text, balance bigint)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
#variable_conflict use_variable
BEGIN
  PERFORM {{hold_merchant}}(p_merchant_id);
  PERFORM FROM {{merchants}} m WHERE m.id = p_merchant_id;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT p.line_id, p.balance_after INTO line_id, balance FROM {{post}}(ARRAY[
    {{balance_movement}}(p_merchant_id, 'adjustment', p_amount, NULL, p_text)
  ]) p;
  PERFORM {{add_audit}}(
    p_merchant_id, NULL, 'balance.adjusted', jsonb_build_object('lineId', line_id, 'amount', p_amount)
  );
  RETURN NEXT;
END
$$;
