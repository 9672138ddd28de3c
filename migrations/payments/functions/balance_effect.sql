-- distribute: everywhere
-- The amount that a movement adds to the merchant's balance: the sum of its entries of the account "merchant".
CREATE OR REPLACE FUNCTION {{balance_effect}}(p_kind text, p_gross bigint, p_fees bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT CASE p_kind
  WHEN 'capture' THEN p_gross - p_fees
  WHEN 'refund' THEN -p_gross - p_fees
  WHEN 'disputeLost' THEN -p_gross - p_fees
  WHEN 'payout' THEN -p_gross
  WHEN 'payoutReversal' THEN p_gross
  WHEN 'adjustment' THEN p_gross
  WHEN 'currencyClosed' THEN p_gross
  WHEN 'currencyOpened' THEN p_gross
  ELSE 0
END
$$;
