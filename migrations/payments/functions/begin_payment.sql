-- distribute: p_merchant_id
-- Claims the objects that a payment uses once: its session, its Idempotency-Key and its tokens, the field tokens of p_payment
-- ({jti, expires}). Then writes the card, the field instrument, and the attempt for the authorization. The other fields are those
-- of the transaction.
--
-- Verdict: done with an attempt; finished: the session or the key has an outcome; running: another request holds the session or
-- the key; spent: a token was used before; gone: the session is unknown or expired; key-mismatch: another order of the key is
-- paid or running. The merchant's row, not the caller, decides whether the payment is a test. (reference: Paying once)
--
-- Lock order: the session, the key, the tokens by their jti. Every call locks them in this order, so two calls cannot deadlock.
-- The session comes first: it shows whether another request pays, even with another key and other tokens.
CREATE OR REPLACE FUNCTION {{begin_payment}}(
  p_caller {{caller}}, p_merchant_id text, p_session_id text, p_payment jsonb, p_pan_sealed bytea, p_pan_mac bytea
)
RETURNS TABLE (verdict text, attempt_id text, transaction_id text, status_code text)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  session {{payment_sessions}};
  claimed record;
  made record;
  merchant {{merchants}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  verdict := 'done';
  IF p_session_id IS NOT NULL THEN
    SELECT s.* INTO session FROM {{payment_sessions}} s
      WHERE s.merchant_id = p_merchant_id AND s.id = p_session_id FOR UPDATE;
    -- The session may have expired while this function waited for its row.
    verdict := CASE
      WHEN (session.expires > clock_timestamp()) IS NOT TRUE THEN 'gone'
      WHEN session.transaction_id IS NOT NULL THEN 'finished'
      WHEN session.attempt_id IS NOT NULL THEN 'running'
      ELSE 'done'
    END;
    transaction_id := session.transaction_id;
    status_code := session.status_code;
    IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  END IF;
  -- If a token is spent, the exception rolls back the claim of the key, so the key keeps its earlier data.
  BEGIN
    claimed := {{claim_key}}(p_caller, p_merchant_id, p_merchant_id);
    IF claimed.verdict = 'key-mismatch' THEN
      IF {{take_over_key}}(p_caller, p_merchant_id, p_merchant_id) THEN
        claimed.verdict := 'claimed';
      ELSE
        -- Another request may have claimed the key meanwhile, with this order or with a third order.
        claimed := {{claim_key}}(p_caller, p_merchant_id, p_merchant_id);
      END IF;
    END IF;
    IF claimed.verdict <> 'claimed' THEN
      verdict := CASE claimed.verdict
        WHEN 'replayed' THEN 'finished' WHEN 'key-running' THEN 'running' ELSE claimed.verdict
      END;
      transaction_id := (claimed.held).object_id;
      status_code := (claimed.held).body;
      RETURN NEXT; RETURN;
    END IF;
    INSERT INTO {{spent_tokens}} (merchant_id, jti, expires)
      SELECT p_merchant_id, t.jti, t.expires
      FROM jsonb_to_recordset(p_payment -> 'tokens') AS t(jti text, expires timestamptz) ORDER BY t.jti;
  EXCEPTION WHEN unique_violation THEN
    verdict := 'spent';
    RETURN NEXT; RETURN;
  END;
  IF {{currency_exponent}}(p_payment ->> 'currency') IS NULL THEN
    RAISE EXCEPTION '% is not a currency', p_payment ->> 'currency' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT m.* INTO STRICT merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  -- An operator has just changed the acquirer. No acquirer was called yet, so the customer may pay again.
  IF p_payment ->> 'acquirer' IS DISTINCT FROM (CASE WHEN NOT merchant.test THEN merchant.acquirer END) THEN
    RAISE EXCEPTION 'the merchant has another acquirer' USING ERRCODE = 'serialization_failure';
  END IF;
  -- Reject a live payment without an acquirer, for every caller.
  IF NOT merchant.test AND coalesce(merchant.acquirer, '') = '' THEN
    RAISE EXCEPTION 'the merchant has no acquirer' USING ERRCODE = 'check_violation';
  END IF;
  SELECT n.* INTO made FROM {{new_id}}(right(p_payment #>> '{instrument,id}', 8)) n;
  attempt_id := made.id;
  INSERT INTO {{instruments}} (
    merchant_id, id, created, pan_sealed, key_id, pan_mac, bin, last4, expiry, scheme, scenario, planned
  )
  SELECT p_merchant_id, i.id, made.created, p_pan_sealed, i."keyId", p_pan_mac, i.bin, i.last4, i.expiry, i.scheme,
    i.scenario, i.planned
  FROM jsonb_to_record(p_payment -> 'instrument') AS i(
    id text, "keyId" smallint, bin text, last4 text, expiry date, scheme text, scenario jsonb, planned boolean
  );
  INSERT INTO {{attempts}} (merchant_id, id, created, kind, request) VALUES (
    p_merchant_id, made.id, made.created, 'payment', p_payment - 'instrument' || jsonb_build_object(
      'instrumentId', p_payment #>> '{instrument,id}', 'sessionId', p_session_id, 'recurring', false,
      'codePresent', true, 'test', merchant.test, 'method', p_caller.method, 'path', p_caller.path, 'key', p_caller.key
    )
  );
  UPDATE {{payment_sessions}} s SET attempt_id = made.id
    WHERE s.merchant_id = p_merchant_id AND s.id = p_session_id;
  RETURN NEXT;
END
$$;
