-- distribute: p_merchant_id
-- Adds a fraud alert, once for each reference of the acquirer. p_caller: NULL for the acquirer or an operator. p_fraud: NULL to
-- check access only. Two acquirers may use the same reference, so the stored reference begins with the name of the transaction's
-- acquirer.
--
-- Verdict: that of judge_test_access or claim_key; done, also if an alert with the reference exists. (reference: Fraud alerts)
--
-- If an event with this reference has left an exception, this call resolves it.
--
-- Lock order: the transaction, the key, the balance, the exception. The foreign key of the alert would lock the transaction last,
-- but operations lock it first, so this function locks it first too. The key comes before the balance: an idempotent request
-- waits for the key without blocking the balance, for which all other requests of the merchant wait.
CREATE OR REPLACE FUNCTION {{add_fraud}}(p_caller {{caller}}, p_merchant_id text, p_transaction_id text, p_fraud jsonb)
RETURNS TABLE (verdict text, identity_id text, fraud {{frauds}})
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  merchant text;
  claimed record;
  ids record;
  ref text;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  IF p_fraud ->> 'acquirerRef' = '' THEN
    RAISE EXCEPTION 'the reference of a fraud alert is not empty' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  {{include:judge_test_transaction.sql}}
  IF verdict <> 'done' OR p_fraud IS NULL THEN RETURN NEXT; RETURN; END IF;
  SELECT coalesce(t.acquirer || ':', '') || (p_fraud ->> 'acquirerRef') INTO ref FROM {{transactions}} t
    WHERE t.merchant_id = merchant AND t.id = p_transaction_id FOR KEY SHARE;
  claimed := {{claim_key}}(p_caller, merchant, identity_id);
  -- Takes the merchant's lock. Of two alerts with one reference, the second then finds the first.
  ids := {{take_ids}}(merchant, 2);
  IF claimed.verdict = 'claimed' THEN PERFORM {{resolve_reported}}(merchant, 'event ' || ref); END IF;
  SELECT f.* INTO fraud FROM {{frauds}} f
    WHERE f.merchant_id = merchant
      AND (f.id = (claimed.held).object_id OR f.acquirer_ref = ref);
  IF claimed.verdict <> 'claimed' THEN verdict := claimed.verdict; END IF;
  IF claimed.verdict <> 'claimed' OR fraud.id IS NOT NULL THEN RETURN NEXT; RETURN; END IF;
  INSERT INTO {{frauds}} AS f (merchant_id, id, created, transaction_id, reported, reason, acquirer_ref)
    VALUES (
      merchant, {{id_at}}(ids.first, ids.tag), {{created_at}}(ids.first), p_transaction_id,
      (p_fraud ->> 'reported')::timestamptz, (p_fraud ->> 'reason')::int, ref
    ) RETURNING f.* INTO fraud;
  PERFORM {{add_event}}(
    merchant, {{id_at}}(ids.first + 1, ids.tag), {{created_at}}(ids.first + 1),
    'fraud.created', fraud.id, NULL
  );
  PERFORM {{finish_key}}(p_caller, merchant, identity_id, 201, fraud.id, NULL, NULL);
  RETURN NEXT;
END
$$;
