-- distribute: everywhere
-- The amount that the open disputes of a merchant would take from its balance if all were lost. (reference: Available amount)
CREATE OR REPLACE FUNCTION {{dispute_reserve}}(p_merchant_id text)
RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  reserved bigint := 0;
  disputed record;
BEGIN
  FOR disputed IN
    SELECT t.id, t.refunded + t.lost AS reversed, t.disputed - t.lost AS open FROM {{transactions}} t
    WHERE t.merchant_id = p_merchant_id AND t.id IN (
      SELECT d.transaction_id FROM {{disputes}} d WHERE d.merchant_id = p_merchant_id AND d.status = 'open'
    )
  LOOP
    reserved := reserved + {{reversal_gross}}(p_merchant_id, disputed.id, disputed.reversed, disputed.open);
  END LOOP;
  RETURN reserved;
END
$$;
