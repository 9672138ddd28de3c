-- distribute: everywhere
-- Returns the former currency of a merchant that moved to the euro, and the id of the journal from which on its lines are in
-- euro. No row if the merchant never moved. (reference: Moving to the euro)
CREATE OR REPLACE FUNCTION {{currency_opened}}(p_merchant_id text)
RETURNS TABLE (former_currency text, journal_id text)
LANGUAGE plpgsql STABLE ROWS 1
AS $$
BEGIN
  RETURN QUERY SELECT j.cause_id, j.id FROM {{journals}} j
    WHERE j.merchant_id = p_merchant_id AND j.kind = 'currencyOpened';
END
$$;
