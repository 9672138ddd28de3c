-- distribute: p_merchant_id
-- Records that events of an acquirer about a merchant wait because one of them fails. The exception holds back the whole balance,
-- because a dispute may be among the events. p_payload: the data for the operator; NULL if no event waits any more, which
-- resolves the exception. If events still wait, an exception that an operator has resolved opens again. Records nothing if the
-- live merchant never had the acquirer. Returns whether anything changed. (reference: Events of an acquirer)
--
-- Lock order: the balance, the exception, as in move_currency.
CREATE OR REPLACE FUNCTION {{hold_events}}(p_merchant_id text, p_acquirer text, p_payload jsonb)
RETURNS boolean
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  exception_id text := {{exception_id}}('waiting ' || p_acquirer);
  held {{acquirer_exceptions}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  PERFORM 1 FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  SELECT x.* INTO held FROM {{acquirer_exceptions}} x
    WHERE x.merchant_id = p_merchant_id AND x.id = exception_id FOR UPDATE;
  PERFORM {{expect_recorded}}(p_merchant_id, 'acquirer_exceptions', ARRAY[exception_id]);
  IF (p_payload IS NULL) = (held.id IS NULL OR held.resolved IS NOT NULL) THEN RETURN false; END IF;
  IF p_payload IS NULL THEN
    UPDATE {{acquirer_exceptions}} x SET resolved = now() WHERE x.merchant_id = p_merchant_id AND x.id = exception_id;
  ELSIF {{has_acquirer}}(p_merchant_id, p_acquirer) THEN
    INSERT INTO {{acquirer_exceptions}} AS x (merchant_id, id, payload, created, resolved, reserved)
      VALUES (p_merchant_id, exception_id, p_payload, now(), NULL, NULL)
      ON CONFLICT (merchant_id, id) DO UPDATE SET payload = excluded.payload, resolved = NULL;
  ELSE
    RETURN false;
  END IF;
  PERFORM {{record_states}}(p_merchant_id, 'acquirer_exceptions', ARRAY[exception_id]);
  RETURN true;
END
$$;
