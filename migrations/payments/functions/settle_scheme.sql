-- Posts what the acquirer has paid for captures, less refunds: once for each of its references, true for the first time. NULL
-- when there is no such merchant.
CREATE OR REPLACE FUNCTION {{settle_scheme}}(p_merchant_id text, p_currency text, p_amount bigint, p_ref text)
RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
  moved {{movement}} := {{balance_movement}}(p_merchant_id, 'schemeSettled', 0, p_ref, NULL);
BEGIN
  PERFORM FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM FROM {{journals}} j
    WHERE j.merchant_id = p_merchant_id AND j.kind = 'schemeSettled' AND j.cause_id = p_ref;
  IF FOUND THEN RETURN false; END IF;
  moved.currency := p_currency;
  moved.amount := p_amount;
  PERFORM {{post}}(ARRAY[moved]);
  RETURN true;
END
$$;
