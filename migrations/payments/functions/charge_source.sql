-- distribute: everywhere
-- Finds the transaction whose card a charge uses: a successful transaction of the merchant, by its own id or the id of a saved
-- card. Returns the id of the transaction and its card, or no row.
CREATE OR REPLACE FUNCTION {{charge_source}}(p_merchant_id text, p_transaction_id text, p_card_id text)
RETURNS TABLE (transaction_id text, instrument {{instruments}})
LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_variable
DECLARE
  instrument_id text;
BEGIN
  SELECT source.id, source.instrument_id INTO transaction_id, instrument_id FROM (
    SELECT t.id, t.instrument_id FROM {{transactions}} t
    WHERE t.merchant_id = p_merchant_id AND t.id = p_transaction_id AND t.successful
    UNION ALL
    SELECT c.transaction_id, c.instrument_id FROM {{cards}} c
    WHERE c.merchant_id = p_merchant_id AND c.id = p_card_id AND c.deleted IS NULL
  ) source;
  SELECT i.* INTO instrument FROM {{instruments}} i WHERE i.merchant_id = p_merchant_id AND i.id = instrument_id;
  IF FOUND THEN RETURN NEXT; END IF;
END
$$;
