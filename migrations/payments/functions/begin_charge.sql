-- distribute: p_merchant_id
-- Judges a charge of a card from an earlier payment, and writes the attempt for the authorization. No lock is held during the
-- call of the acquirer. p_charge: NULL to check access only; its field rateAgeDaysMax is the maximum age of an exchange rate.
-- p_acquirers: the acquirers that this process can call.
--
-- Verdict: that of judge_access or claim_key; unknown-source, no-rate or stale-rate; refused with an error code; done with an
-- attempt. A charge that is refused here reaches no acquirer, and leaves only the row of its key. A live charge with a rate that
-- is too old is refused: it would hold money on the customer's card that could never be captured. (reference: Charging again)
--
-- Lock order: only the key. An idempotent request waits for it.
CREATE OR REPLACE FUNCTION {{begin_charge}}(p_caller {{caller}}, p_merchant_id text, p_charge jsonb, p_acquirers text[])
RETURNS TABLE (
  verdict text, identity_id text, transaction_id text, error_code int, attempt_id text, descriptor text, acquirer text,
  expired boolean, instrument {{instruments}}
)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  merchant {{merchants}};
  claimed record;
  source record;
  made record;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' OR p_charge IS NULL THEN RETURN NEXT; RETURN; END IF;
  claimed := {{claim_key}}(p_caller, p_merchant_id, identity_id);
  IF claimed.verdict <> 'claimed' THEN
    verdict := claimed.verdict;
    transaction_id := (claimed.held).object_id;
    error_code := (claimed.held).error_code;
    RETURN NEXT; RETURN;
  END IF;
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  SELECT s.* INTO source FROM {{charge_source}}(
    p_merchant_id, p_charge ->> 'transactionId', p_charge ->> 'cardId'
  ) s;
  instrument := source.instrument;
  PERFORM FROM {{exchange}}(1, p_charge ->> 'currency', merchant.currency, current_date, 0);
  verdict := CASE
    WHEN instrument.id IS NULL THEN 'unknown-source'
    WHEN NOT FOUND THEN 'no-rate'
    WHEN NOT merchant.test AND (
      SELECT x.rate_date FROM {{exchange}}(1, p_charge ->> 'currency', merchant.currency, current_date, 0) x
    ) < current_date - (p_charge ->> 'rateAgeDaysMax')::int THEN 'stale-rate'
    WHEN NOT (merchant.claim ->> 'canChargeCard')::boolean THEN 'refused'
    WHEN NOT merchant.test AND NOT coalesce(merchant.acquirer = ANY (p_acquirers), false) THEN 'refused'
    ELSE 'done'
  END;
  IF verdict = 'refused' THEN
    error_code := 27; -- Merchant may not create transactions.
    PERFORM {{finish_key}}(p_caller, p_merchant_id, identity_id, 400, NULL, error_code, NULL);
  ELSIF verdict <> 'done' THEN
    PERFORM {{release_key}}(p_caller, p_merchant_id, identity_id);
  END IF;
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  descriptor := coalesce(p_charge ->> 'descriptor', merchant.descriptor);
  acquirer := CASE WHEN NOT merchant.test THEN merchant.acquirer END;
  expired := instrument.expiry < ({{merchant_now}}(p_merchant_id) AT TIME ZONE 'UTC')::date;
  made := {{new_id}}(merchant.tag);
  attempt_id := made.id;
  INSERT INTO {{attempts}} (merchant_id, id, created, kind, request) VALUES (
    p_merchant_id, made.id, made.created, 'charge', p_charge - 'rateAgeDaysMax' || jsonb_build_object(
      'sourceId', source.transaction_id, 'descriptor', descriptor, 'acquirer', acquirer,
      'instrumentId', instrument.id, 'test', merchant.test, 'identityId', identity_id,
      'method', p_caller.method, 'path', p_caller.path, 'key', p_caller.key
    )
  );
  RETURN NEXT;
END
$$;
