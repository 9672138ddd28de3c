-- distribute: everywhere
-- The move of a merchant to its currency of now: the currency of before, and the id of the journal from which on its lines are
-- in the new one. No row where the merchant has always had its currency. (reference: Moving to the euro)
CREATE OR REPLACE FUNCTION {{currency_opened}}(p_merchant_id text)
RETURNS TABLE (former_currency text, journal_id text)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
BEGIN
  RETURN QUERY SELECT j.cause_id, j.id FROM {{journals}} j
    WHERE j.merchant_id = p_merchant_id AND j.kind = 'currencyOpened';
END
$$;
