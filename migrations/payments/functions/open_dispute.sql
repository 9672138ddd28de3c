-- distribute: p_merchant_id
-- Opens a dispute and reserves its amount, once for each reference of the acquirer. p_caller: NULL for the acquirer or an
-- operator. p_dispute: NULL when only access is to be checked; its amount, where not given, is all that can be disputed.
--
-- Verdict: that of judge_test_access or claim_key; limit-exceeded with what could be disputed in possible and currency;
-- too-many-open for one more than a test merchant may have; done, also with the dispute that the reference opened
-- before. (reference: Disputes)
--
-- Lock order: the transaction, the key, the balance. Every function that changes the money of a transaction locks the
-- transaction first, so that two of them never wait for each other. A repeat waits for the transaction, and then sees the
-- dispute.
CREATE OR REPLACE FUNCTION {{open_dispute}}(p_caller {{caller}}, p_merchant_id text, p_transaction_id text, p_dispute jsonb)
RETURNS TABLE (verdict text, identity_id text, possible bigint, currency text, dispute {{disputes}})
LANGUAGE plpgsql SECURITY DEFINER
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
  held {{transactions}};
  merchant text;
  claimed record;
  ids record;
  due date;
BEGIN
  PERFORM {{hold_merchant}}(p_merchant_id);
  {{include:judge_test_transaction.sql}}
  IF verdict <> 'done' OR p_dispute IS NULL THEN RETURN NEXT; RETURN; END IF;
  SELECT t.* INTO held FROM {{transactions}} t
    WHERE t.merchant_id = merchant AND t.id = p_transaction_id FOR UPDATE;
  claimed := {{claim_key}}(p_caller, merchant, identity_id);
  SELECT d.* INTO dispute FROM {{disputes}} d
    WHERE d.merchant_id = merchant
      AND (d.id = (claimed.held).object_id OR d.acquirer_ref = p_dispute ->> 'acquirerRef');
  IF claimed.verdict <> 'claimed' THEN verdict := claimed.verdict; END IF;
  IF claimed.verdict <> 'claimed' OR dispute.id IS NOT NULL THEN RETURN NEXT; RETURN; END IF;
  currency := held.currency;
  possible := held.captured - held.refunded - held.disputed;
  dispute.amount := coalesce((p_dispute ->> 'amount')::bigint, possible);
  IF dispute.amount NOT BETWEEN 1 AND possible THEN
    verdict := 'limit-exceeded';
    PERFORM {{release_key}}(p_caller, merchant, identity_id);
    RETURN NEXT; RETURN;
  END IF;
  -- A view of the merchant, and each payout, values all that is disputed.
  IF held.test AND (
    SELECT count(*) >= 1000 FROM (
      SELECT FROM {{disputes}} d WHERE d.merchant_id = merchant AND d.status = 'open' LIMIT 1000
    ) opened
  ) THEN
    verdict := 'too-many-open';
    PERFORM {{release_key}}(p_caller, merchant, identity_id);
    RETURN NEXT; RETURN;
  END IF;
  ids := {{take_ids}}(merchant, 2);
  due := ({{merchant_now}}(merchant) AT TIME ZONE 'UTC')::date + 20;
  INSERT INTO {{disputes}} AS d (
    merchant_id, id, created, transaction_id, amount, currency, reason_code, reason_title, due, acquirer_ref
  ) VALUES (
    merchant, {{id_at}}(ids.first, ids.tag), {{created_at}}(ids.first), held.id,
    dispute.amount, held.currency, (p_dispute ->> 'reasonCode')::int, p_dispute ->> 'reasonTitle',
    (due + interval '1 day' - interval '1 millisecond') AT TIME ZONE 'UTC', p_dispute ->> 'acquirerRef'
  ) RETURNING d.* INTO dispute;
  UPDATE {{transactions}} t SET disputed = t.disputed + dispute.amount
    WHERE t.merchant_id = merchant AND t.id = held.id;
  PERFORM {{record_states}}(merchant, 'disputes', ARRAY[dispute.id]);
  PERFORM {{add_event}}(
    merchant, {{id_at}}(ids.first + 1, ids.tag), {{created_at}}(ids.first + 1),
    'dispute.opened', dispute.id, NULL
  );
  PERFORM {{finish_key}}(p_caller, merchant, identity_id, 201, dispute.id, NULL, NULL);
  RETURN NEXT;
END
$$;
