-- distribute: p_merchant_id
-- Opens a dispute and reserves its amount, once for each reference of the acquirer. p_caller: NULL for the acquirer or an
-- operator. p_dispute: NULL to check only access. Its default amount is all that can be disputed, and its default currency is
-- that of the transaction. Two acquirers may use one reference, so the stored reference begins with the name of the transaction's
-- acquirer, whether it comes from an event or a paper.
--
-- Verdict:
--   that of judge_test_access or claim_key
--   limit-exceeded: possible and currency are the amount that can be disputed.
--   no-rate: a currency cannot be exchanged.
--   too-many-open: a test merchant has the maximum number of open disputes.
--   done: returns the dispute, which an earlier call with this reference may have opened.
--
-- A caller may dispute captured money that is neither refunded nor disputed. The acquirer and operators report the amount that
-- the issuer takes, which may be more: the rest is the excess. (reference: Disputes)
--
-- Also resolves the exception that the event of this reference left, if the exception holds back nothing.
--
-- Lock order: the transaction, the key, the balance, the exception. Every function that changes the money of a transaction locks
-- the transaction first, which prevents deadlocks. An idempotent request waits for the transaction, and then sees the dispute.
CREATE OR REPLACE FUNCTION {{open_dispute}}(p_caller {{caller}}, p_merchant_id text, p_transaction_id text, p_dispute jsonb)
RETURNS TABLE (verdict text, identity_id text, possible bigint, currency text, dispute {{disputes}})
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  held {{transactions}};
  merchant text;
  claimed record;
  ids record;
  due date;
  today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  -- The disputed amount in the currency of the transaction.
  wanted bigint;
  ref text;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  IF p_dispute ->> 'acquirerRef' = '' THEN
    RAISE EXCEPTION 'the reference of a dispute is not empty' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  {{include:judge_test_transaction.sql}}
  IF verdict <> 'done' OR p_dispute IS NULL THEN RETURN NEXT; RETURN; END IF;
  SELECT t.* INTO held FROM {{transactions}} t
    WHERE t.merchant_id = merchant AND t.id = p_transaction_id FOR UPDATE;
  claimed := {{claim_key}}(p_caller, merchant, identity_id);
  ref := coalesce(held.acquirer || ':', '') || (p_dispute ->> 'acquirerRef');
  SELECT d.* INTO dispute FROM {{disputes}} d
    WHERE d.merchant_id = merchant
      AND (d.id = (claimed.held).object_id OR d.acquirer_ref = ref);
  IF claimed.verdict <> 'claimed' THEN verdict := claimed.verdict; END IF;
  IF claimed.verdict <> 'claimed' OR dispute.id IS NOT NULL THEN RETURN NEXT; RETURN; END IF;
  currency := held.currency;
  possible := held.captured - held.refunded - held.disputed;
  dispute.currency := coalesce(p_dispute ->> 'currency', held.currency);
  dispute.amount := coalesce((p_dispute ->> 'amount')::bigint, possible);
  verdict := CASE
    WHEN dispute.amount NOT BETWEEN 1 AND 999999999999 THEN 'limit-exceeded'
    WHEN NOT (p_caller IS NULL) AND dispute.amount > possible THEN 'limit-exceeded'
    ELSE 'done'
  END;
  IF verdict = 'done' THEN
    wanted := (SELECT x.amount FROM {{exchange}}(dispute.amount, dispute.currency, held.currency, today, 0) x);
    dispute.covered := least(wanted, possible);
    dispute.excess := CASE WHEN dispute.covered = 0 THEN dispute.amount WHEN wanted > possible THEN greatest(dispute.amount - (
      SELECT x.amount FROM {{exchange}}(dispute.covered, held.currency, dispute.currency, today, 0) x
    ), 0) ELSE 0 END;
    dispute.excess_gross := (SELECT x.amount FROM {{exchange}}(dispute.excess, dispute.currency, held.funding_currency, today, 0) x);
    IF num_nulls(wanted, dispute.excess, dispute.excess_gross) > 0 THEN verdict := 'no-rate'; END IF;
  END IF;
  IF verdict <> 'done' THEN
    PERFORM {{release_key}}(p_caller, merchant, identity_id);
    RETURN NEXT; RETURN;
  END IF;
  ids := {{take_ids}}(merchant, 3);
  -- A view of the merchant, and each payout, computes the worth of all open disputes, so limit their number. The lock of the
  -- balance admits one new dispute at a time.
  IF held.test AND (
    SELECT count(*) >= 1000 FROM (
      SELECT FROM {{disputes}} d WHERE d.merchant_id = merchant AND d.status = 'open' LIMIT 1000
    ) opened
  ) THEN
    verdict := 'too-many-open';
    PERFORM {{release_key}}(p_caller, merchant, identity_id);
    RETURN NEXT; RETURN;
  END IF;
  PERFORM {{resolve_reported}}(merchant, 'event ' || ref);
  due := ({{merchant_now}}(merchant) AT TIME ZONE 'UTC')::date + 20;
  INSERT INTO {{disputes}} AS d (
    merchant_id, id, created, transaction_id, amount, currency, reason_code, reason_title, due, acquirer_ref,
    covered, excess, excess_gross
  ) VALUES (
    merchant, {{id_at}}(ids.first, ids.tag), {{created_at}}(ids.first), held.id,
    dispute.amount, dispute.currency, (p_dispute ->> 'reasonCode')::int, p_dispute ->> 'reasonTitle',
    (due + interval '1 day' - interval '1 millisecond') AT TIME ZONE 'UTC', ref,
    dispute.covered, dispute.excess, dispute.excess_gross
  ) RETURNING d.* INTO dispute;
  UPDATE {{transactions}} t SET disputed = t.disputed + dispute.covered
    WHERE t.merchant_id = merchant AND t.id = held.id;
  PERFORM {{record_states}}(merchant, 'disputes', ARRAY[dispute.id]);
  PERFORM {{add_event}}(
    merchant, {{id_at}}(ids.first + 1, ids.tag), {{created_at}}(ids.first + 1),
    'dispute.opened', dispute.id, NULL
  );
  IF dispute.excess > 0 THEN
    PERFORM {{enqueue}}(merchant, {{id_at}}(ids.first + 2, ids.tag), 'rejection_mail',
      jsonb_build_object('disputeId', dispute.id));
  END IF;
  PERFORM {{finish_key}}(p_caller, merchant, identity_id, 201, dispute.id, NULL, NULL);
  RETURN NEXT;
END
$$;
