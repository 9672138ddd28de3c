-- distribute: p_merchant_id
-- Closes a dispute. Won: the money belongs to the merchant again. Lost: the money is taken at the rates of the captures, with the
-- excess of the dispute and the fee. p_caller: NULL for the acquirer or an operator. p_outcome: won or lost; NULL to check only
-- access.
--
-- Verdict:
--   that of judge_test_access or claim_key
--   conflict: the dispute was closed with the other outcome.
--   trail-full: the trail of the transaction has no room for the movement.
--   done: the dispute has this outcome. If it had this outcome before the call, nothing changes.
--
-- For callers, who act in test mode, the limit of the trail is lower than for the acquirer and operators. (reference: Disputes)
--
-- Also resolves the exception that an earlier report of this outcome left, if the exception holds back nothing.
--
-- Lock order: the transaction, the dispute, the key, the balance, the exception. Every function that changes the money of a
-- transaction locks the transaction first, which prevents deadlocks. The key comes after the rows, so that an idempotent request
-- waits for the first request and returns the dispute as the first request left it.
CREATE OR REPLACE FUNCTION {{close_dispute}}(p_caller {{caller}}, p_merchant_id text, p_dispute_id text, p_outcome text)
RETURNS TABLE (verdict text, identity_id text, dispute {{disputes}})
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  held {{transactions}};
  after {{transactions}};
  claimed record;
  moment timestamptz;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  IF p_outcome NOT IN ('won', 'lost') THEN
    RAISE EXCEPTION '% is not an outcome', p_outcome USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF p_merchant_id IS NULL THEN
    SELECT d.* INTO dispute FROM {{owners}}(p_dispute_id) o
      JOIN {{disputes}} d ON d.merchant_id = o.merchant_id AND d.id = p_dispute_id;
  ELSE
    SELECT d.* INTO dispute FROM {{disputes}} d WHERE d.merchant_id = p_merchant_id AND d.id = p_dispute_id;
  END IF;
  SELECT j.verdict, j.identity_id INTO verdict, identity_id
    FROM {{judge_test_access}}(p_caller, dispute.merchant_id) j;
  IF verdict <> 'done' OR p_outcome IS NULL THEN RETURN NEXT; RETURN; END IF;
  SELECT t.* INTO held FROM {{transactions}} t
    WHERE t.merchant_id = dispute.merchant_id AND t.id = dispute.transaction_id FOR UPDATE;
  SELECT d.* INTO dispute FROM {{disputes}} d
    WHERE d.merchant_id = held.merchant_id AND d.id = p_dispute_id FOR UPDATE;
  claimed := {{claim_key}}(p_caller, held.merchant_id, identity_id);
  verdict := CASE
    WHEN claimed.verdict <> 'claimed' THEN claimed.verdict
    WHEN dispute.status NOT IN ('open', p_outcome) THEN 'conflict'
    WHEN dispute.status = 'open' AND held.trail_length >= CASE WHEN p_caller IS NULL THEN 10000 ELSE 300 END
      THEN 'trail-full'
    ELSE 'done'
  END;
  IF verdict IN ('conflict', 'trail-full') THEN
    PERFORM {{release_key}}(p_caller, held.merchant_id, identity_id);
  END IF;
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  PERFORM {{finish_key}}(p_caller, held.merchant_id, identity_id, 201, dispute.id, NULL, NULL);
  IF dispute.status = p_outcome THEN RETURN NEXT; RETURN; END IF;
  PERFORM {{expect_recorded}}(held.merchant_id, 'disputes', ARRAY[dispute.id]);
  UPDATE {{transactions}} t SET
      disputed = t.disputed - CASE WHEN p_outcome = 'won' THEN dispute.covered ELSE 0 END,
      lost = t.lost + CASE WHEN p_outcome = 'lost' THEN dispute.covered ELSE 0 END,
      trail_length = t.trail_length + 1
    WHERE t.merchant_id = held.merchant_id AND t.id = held.id RETURNING t.* INTO after;
  PERFORM {{post}}(ARRAY[{{dispute_movement}}(held, after, dispute, p_outcome)]);
  PERFORM {{resolve_reported}}(held.merchant_id, p_outcome || ' dispute ' || dispute.acquirer_ref);
  moment := date_trunc('milliseconds', clock_timestamp());
  UPDATE {{disputes}} d SET
      status = p_outcome, resolved = moment
    WHERE d.merchant_id = held.merchant_id AND d.id = dispute.id RETURNING d.* INTO dispute;
  PERFORM {{record_states}}(held.merchant_id, 'disputes', ARRAY[dispute.id]);
  RETURN NEXT;
END
$$;
