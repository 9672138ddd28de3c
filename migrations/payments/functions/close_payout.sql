-- distribute: p_merchant_id
-- Ends a payout. A failed payout returns the money to the balance. p_outcome: settled or failed.
--
-- Verdict:
--   not-found: the merchant has no such payout.
--   conflict: the payout has the other outcome.
--   done: the payout has this outcome. If it had this outcome before the call, nothing changes.
--
-- (reference: States of a payout)
--
-- Lock order: the payout, the balance. export_waiting_payouts uses the same order, which prevents deadlocks.
CREATE OR REPLACE FUNCTION {{close_payout}}(p_merchant_id text, p_payout_id text, p_outcome text)
RETURNS TABLE (verdict text, payout {{payouts}})
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  movement {{movement}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  IF coalesce(p_outcome, '') NOT IN ('settled', 'failed') THEN
    RAISE EXCEPTION '% is not an outcome', p_outcome USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF p_merchant_id IS NULL THEN
    SELECT p.* INTO payout FROM {{owners}}(p_payout_id) o
      JOIN {{payouts}} p ON p.merchant_id = o.merchant_id AND p.id = p_payout_id;
  ELSE
    SELECT p.* INTO payout FROM {{payouts}} p WHERE p.merchant_id = p_merchant_id AND p.id = p_payout_id;
  END IF;
  IF payout.id IS NULL THEN verdict := 'not-found'; RETURN NEXT; RETURN; END IF;
  SELECT p.* INTO payout FROM {{payouts}} p
    WHERE p.merchant_id = payout.merchant_id AND p.id = p_payout_id FOR UPDATE;
  verdict := CASE WHEN payout.status IN ('created', 'exported', p_outcome) THEN 'done' ELSE 'conflict' END;
  IF payout.status IN ('created', 'exported') THEN
    PERFORM {{expect_recorded}}(payout.merchant_id, 'payouts', ARRAY[payout.id]);
    movement := {{balance_movement}}(
      payout.merchant_id, CASE p_outcome WHEN 'settled' THEN 'payoutSettled' ELSE 'payoutReversal' END,
      payout.amount, payout.id, NULL
    );
    -- The merchant may have moved to another currency since the payout.
    movement.funding_currency := payout.currency;
    PERFORM {{post}}(ARRAY[movement]);
    UPDATE {{payouts}} p SET status = p_outcome
      WHERE p.merchant_id = payout.merchant_id AND p.id = payout.id RETURNING p.* INTO payout;
    PERFORM {{record_states}}(payout.merchant_id, 'payouts', ARRAY[payout.id]);
    PERFORM {{add_audit}}(
      payout.merchant_id, NULL, 'payout.' || p_outcome, jsonb_build_object('payoutId', payout.id)
    );
  END IF;
  RETURN NEXT;
END
$$;
