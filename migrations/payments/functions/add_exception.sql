-- distribute: p_merchant_id
-- Stores an answer of an acquirer that contradicts the books, once for each reference. p_amount and p_currency: the amount of a
-- dispute that the books cannot follow; NULL for any other answer. Payouts hold back the amount until the exception is resolved.
-- The default currency is that of the merchant. The exchange rate is that of the day. An amount above any possible dispute, or
-- without a rate, holds back the whole balance. An acquirer that a live merchant neither has nor had holds back nothing. An
-- exception that holds back money is added to the chain of states. Returns whether the exception is new, or holds back money now.
-- (reference: Exceptions)
--
-- The reference of a dispute may already have an exception that holds back nothing: from an event of another kind, or resolved by
-- an operator. The dispute replaces that exception, unless an adjustment has booked it.
--
-- Lock order, if there is an amount: the balance, the exception, as in move_currency, which exchanges the worth under the lock of
-- the balance.
CREATE OR REPLACE FUNCTION {{add_exception}}(
  p_merchant_id text, p_reference text, p_payload jsonb, p_amount bigint, p_currency text
)
RETURNS boolean
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  -- Compute the id here. An id from the caller could overwrite the exception of another reference.
  exception_id text := {{exception_id}}(p_reference);
  own text;
  is_known boolean := false;
  is_booked boolean := false;
  worth bigint := 0;
  is_new boolean;
BEGIN
  IF coalesce(p_reference, '') = '' THEN
    RAISE EXCEPTION 'an exception has a reference' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF p_amount IS NOT NULL THEN
    PERFORM {{lock_tenant}}(p_merchant_id);
    SELECT b.currency INTO own FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
    PERFORM x.id FROM {{acquirer_exceptions}} x WHERE x.merchant_id = p_merchant_id AND x.id = exception_id FOR UPDATE;
    PERFORM {{expect_recorded}}(p_merchant_id, 'acquirer_exceptions', ARRAY[exception_id]);
    is_known := {{has_acquirer}}(p_merchant_id, p_payload ->> 'acquirer');
    is_booked := EXISTS (
      SELECT FROM {{journals}} j
      WHERE j.merchant_id = p_merchant_id AND j.kind = 'adjustment' AND j.cause_id = exception_id
    );
  END IF;
  IF is_known THEN
    worth := (
      SELECT x.amount FROM {{exchange}}(
        p_amount, coalesce(p_currency, own), own, (clock_timestamp() AT TIME ZONE 'UTC')::date, 0
      ) x WHERE p_amount <= 999999999999
    );
  END IF;
  INSERT INTO {{acquirer_exceptions}} AS x (merchant_id, id, payload, created, resolved, reserved)
    VALUES (p_merchant_id, exception_id, p_payload, now(), NULL, worth)
    ON CONFLICT (merchant_id, id) DO UPDATE SET payload = excluded.payload, reserved = excluded.reserved, resolved = NULL
      WHERE (x.reserved = 0 OR x.resolved IS NOT NULL) AND excluded.reserved IS DISTINCT FROM 0 AND NOT is_booked;
  is_new := FOUND;
  IF is_new AND worth IS DISTINCT FROM 0 THEN
    PERFORM {{record_states}}(p_merchant_id, 'acquirer_exceptions', ARRAY[exception_id]);
  END IF;
  RETURN is_new;
END
$$;
