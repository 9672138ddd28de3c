-- distribute: coordinator
-- Moves a merchant to the euro if the euro has replaced its currency, for an operator. Two lines close the former balance and
-- open it again at the fixed rate, rounded once. Earlier transactions keep their funding currency in their trail, and `post`
-- books their later movements in euro. Returns no row if the merchant does not exist.
--
-- Verdict:
--   moved: the merchant already uses p_currency. Nothing changes.
--   no-fixed-rate: the merchant's currency has no fixed rate to p_currency today.
--   done: the merchant uses p_currency now.
--
-- rate: NULL unless the verdict is done. (reference: Moving to the euro)
--
-- Lock order: the merchant, its balance, as in change_merchant, and its exceptions. Every function that books or creates a
-- transaction locks the balance, and reads its currency under that lock. So it runs wholly before or after the move. Every
-- function that locks an exception and the balance locks the balance first. Otherwise an exception could still be added after all
-- of them were locked.
CREATE OR REPLACE FUNCTION {{move_currency}}(p_merchant_id text, p_currency text)
RETURNS TABLE (verdict text, currency text, rate text, balance bigint)
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  held {{merchant_balances}};
  fixed numeric;
  description text;
  exceptions text[];
  held_back record;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  PERFORM FROM {{merchants}} m WHERE m.id = p_merchant_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT b.* INTO STRICT held FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  PERFORM {{expect_recorded}}(p_merchant_id, 'merchants', ARRAY[p_merchant_id]);
  currency := held.currency;
  balance := held.balance;
  fixed := {{fixed_rate}}(held.currency, (clock_timestamp() AT TIME ZONE 'UTC')::date);
  verdict := CASE WHEN held.currency = p_currency THEN 'moved' WHEN p_currency <> 'EUR' OR fixed IS NULL THEN 'no-fixed-rate'
    ELSE 'done' END;
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  rate := fixed::text;
  description := 'Moved from ' || held.currency || ' to ' || p_currency || ' at ' || rate;
  balance := {{to_euro}}(held.balance, held.currency);
  PERFORM {{post}}(ARRAY[
    {{balance_movement}}(p_merchant_id, 'currencyClosed', -held.balance, held.currency, description)
  ]);
  UPDATE {{merchant_balances}} b SET currency = p_currency WHERE b.merchant_id = p_merchant_id;
  UPDATE {{merchants}} m SET currency = p_currency WHERE m.id = p_merchant_id;
  PERFORM {{post}}(ARRAY[
    {{balance_movement}}(p_merchant_id, 'currencyOpened', balance, held.currency, description)
  ]);
  -- These exceptions hold back money from payouts for disputes of unknown transactions.
  exceptions := ARRAY(SELECT x.id FROM {{acquirer_exceptions}} x WHERE x.merchant_id = p_merchant_id AND x.reserved > 0);
  PERFORM {{expect_recorded}}(p_merchant_id, 'acquirer_exceptions', exceptions);
  -- Compute the amount outside the UPDATE, because a cluster cannot plan the rate within an UPDATE.
  FOR held_back IN SELECT x.id, x.reserved FROM {{acquirer_exceptions}} x
    WHERE x.merchant_id = p_merchant_id AND x.id = ANY (exceptions)
  LOOP
    held_back.reserved := greatest({{to_euro}}(held_back.reserved, held.currency), 1);
    UPDATE {{acquirer_exceptions}} x SET reserved = held_back.reserved
      WHERE x.merchant_id = p_merchant_id AND x.id = held_back.id;
  END LOOP;
  PERFORM {{record_states}}(p_merchant_id, 'acquirer_exceptions', exceptions);
  PERFORM {{record_merchant_update}}(p_merchant_id);
  PERFORM {{add_audit}}(p_merchant_id, NULL, 'merchant.currency-moved', jsonb_build_object(
    'from', held.currency, 'to', p_currency, 'rate', rate, 'balanceBefore', held.balance, 'balance', balance
  ));
  RETURN NEXT;
END
$$;
