-- distribute: p_merchant_id
-- Books a change of a balance that neither a card nor a bank causes, for an operator. p_amount: minor units of the merchant's
-- currency, below 0 to take money. p_text: the description of the line. p_exception_id: the exception that the adjustment
-- resolves, such as a lost dispute of an unknown transaction; NULL for none. Returns no row if the merchant does not exist.
--
-- Verdict:
--   no-exception: the merchant has no open exception with the id p_exception_id.
--   events-wait: hold_events made the exception, to hold back the whole balance.
--   done: the change is booked.
--
-- An exception of hold_events claims no money, and hold_events would open the exception again. The adjustment resolves its
-- exception in the same database transaction, and the exception is the cause of the journal. So each exception is booked once. A
-- repeated call without an exception books again, because an operator has no Idempotency-Key.
--
-- Lock order: the balance, the exception, as in move_currency.
CREATE OR REPLACE FUNCTION {{adjust}}(p_merchant_id text, p_amount bigint, p_text text, p_exception_id text DEFAULT NULL)
RETURNS TABLE (verdict text, line_id text, balance bigint)
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  exception {{acquirer_exceptions}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  PERFORM FROM {{merchants}} m WHERE m.id = p_merchant_id;
  IF NOT FOUND THEN RETURN; END IF;
  verdict := 'done';
  IF p_exception_id IS NOT NULL THEN
    PERFORM 1 FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
    SELECT x.* INTO exception FROM {{acquirer_exceptions}} x
      WHERE x.merchant_id = p_merchant_id AND x.id = p_exception_id FOR UPDATE;
    PERFORM {{expect_recorded}}(p_merchant_id, 'acquirer_exceptions', ARRAY[p_exception_id]);
    IF exception.id IS NULL OR exception.resolved IS NOT NULL THEN verdict := 'no-exception'; RETURN NEXT; RETURN; END IF;
    IF exception.id = {{exception_id}}('waiting ' || (exception.payload ->> 'acquirer')) THEN
      verdict := 'events-wait';
      RETURN NEXT; RETURN;
    END IF;
    UPDATE {{acquirer_exceptions}} x SET resolved = now() WHERE x.merchant_id = p_merchant_id AND x.id = exception.id;
    IF exception.reserved IS DISTINCT FROM 0 THEN
      PERFORM {{record_states}}(p_merchant_id, 'acquirer_exceptions', ARRAY[exception.id]);
    END IF;
  END IF;
  SELECT p.line_id, p.balance_after INTO line_id, balance FROM {{post}}(ARRAY[
    {{balance_movement}}(p_merchant_id, 'adjustment', p_amount, p_exception_id, p_text)
  ]) p;
  PERFORM {{add_audit}}(
    p_merchant_id, NULL, 'balance.adjusted', jsonb_strip_nulls(
      jsonb_build_object('lineId', line_id, 'amount', p_amount, 'exceptionId', p_exception_id)
    )
  );
  RETURN NEXT;
END
$$;
