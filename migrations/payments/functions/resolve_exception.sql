-- distribute: p_merchant_id
-- Marks an exception as resolved, unless it is resolved already. Returns the exception with the currency of its merchant, and
-- whether it was open until now. No row if the merchant has no such exception. (console reference: Routes of payments)
--
-- Lock order: the balance, the exception, as in move_currency.
CREATE OR REPLACE FUNCTION {{resolve_exception}}(p_merchant_id text, p_exception_id text)
RETURNS TABLE (waited boolean, created timestamptz, payload jsonb, resolved timestamptz, reserved bigint, currency text)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_column
DECLARE
  exception {{acquirer_exceptions}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  SELECT b.currency INTO currency FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  SELECT r.* INTO exception FROM {{acquirer_exceptions}} r
    WHERE r.merchant_id = p_merchant_id AND r.id = p_exception_id FOR UPDATE;
  PERFORM {{expect_recorded}}(p_merchant_id, 'acquirer_exceptions', ARRAY[p_exception_id]);
  UPDATE {{acquirer_exceptions}} r SET resolved = now()
    WHERE r.merchant_id = p_merchant_id AND r.id = exception.id AND r.resolved IS NULL;
  waited := FOUND;
  IF waited AND exception.reserved IS DISTINCT FROM 0 THEN
    PERFORM {{record_states}}(p_merchant_id, 'acquirer_exceptions', ARRAY[exception.id]);
  END IF;
  RETURN QUERY SELECT waited, r.created::timestamptz, r.payload, r.resolved::timestamptz, r.reserved, currency
    FROM {{acquirer_exceptions}} r WHERE r.merchant_id = p_merchant_id AND r.id = p_exception_id;
END
$$;
