-- distribute: p_merchant_id
-- Books the amount that an acquirer reports as paid for captures, less refunds, once for each reference p_ref. Checks under the
-- lock of the merchant's balance whether the amount is possible.
--
-- If an event with this reference has left an exception, this call resolves it. Lock order: the balance, the exception.
--
-- Returns done, repeated, unknown-merchant, test-merchant, other-acquirer, unknown-currency, nothing, too-much or too-much-back.
CREATE OR REPLACE FUNCTION {{book_settlement}}(p_merchant_id text, p_acquirer text, p_currency text, p_amount bigint, p_ref text)
RETURNS text
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  merchant {{merchants}};
  settlement {{movement}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  IF coalesce(p_ref, '') = '' THEN
    RAISE EXCEPTION 'a settlement has a reference' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  IF merchant.id IS NULL THEN RETURN 'unknown-merchant'; END IF;
  IF merchant.test THEN RETURN 'test-merchant'; END IF;
  IF NOT {{has_acquirer}}(merchant.id, p_acquirer) THEN RETURN 'other-acquirer'; END IF;
  IF {{currency_exponent}}(p_currency) IS NULL THEN RETURN 'unknown-currency'; END IF;
  PERFORM 1 FROM {{merchant_balances}} b WHERE b.merchant_id = merchant.id FOR UPDATE;
  PERFORM 1 FROM {{journals}} j
    WHERE j.merchant_id = merchant.id AND j.kind = 'schemeSettled' AND j.cause_id = p_ref;
  IF FOUND THEN RETURN 'repeated'; END IF;
  IF p_amount = 0 THEN RETURN 'nothing'; END IF;
  IF p_amount > 0 AND p_amount > {{scheme_receivable}}(merchant.id, p_currency) THEN RETURN 'too-much'; END IF;
  IF p_amount < 0 AND -p_amount > {{scheme_returnable}}(merchant.id, p_currency) THEN
    RETURN 'too-much-back';
  END IF;
  settlement := {{balance_movement}}(merchant.id, 'schemeSettled', 0, p_ref, NULL);
  settlement.currency := p_currency;
  settlement.amount := p_amount;
  PERFORM {{resolve_reported}}(merchant.id, 'event ' || p_ref);
  PERFORM {{post}}(ARRAY[settlement]);
  RETURN 'done';
END
$$;
