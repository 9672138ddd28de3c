-- distribute: p_merchant_id
-- Stores an answer of an acquirer that contradicts the books, once for each id: a digest of its reference. p_amount and
-- p_currency: what a dispute may take that the books cannot follow, which payouts hold back until the exception is resolved;
-- NULL for any other answer. Without a currency the amount is in that of the merchant. Its worth is that of the day.
-- Returns whether the exception is new. (reference: Exceptions)
--
-- Lock: the balance, where there is an amount, so that a move of the merchant to another currency exchanges the worth.
CREATE OR REPLACE FUNCTION {{add_exception}}(
  p_merchant_id text, p_exception_id text, p_payload jsonb, p_amount bigint, p_currency text
)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  own text;
  worth bigint := 0;
BEGIN
  IF p_amount IS NOT NULL THEN
    PERFORM {{hold_merchant}}(p_merchant_id);
    SELECT b.currency INTO own FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  END IF;
  IF own IS NOT NULL THEN
    worth := (
      SELECT x.amount FROM {{exchange}}(
        least(p_amount, 999999999999), coalesce(p_currency, own), own, (clock_timestamp() AT TIME ZONE 'UTC')::date, 0
      ) x
    );
  END IF;
  INSERT INTO {{acquirer_exceptions}} (merchant_id, id, payload, created, resolved, reserved)
    VALUES (p_merchant_id, p_exception_id, p_payload, now(), NULL, worth)
    ON CONFLICT DO NOTHING;
  RETURN FOUND;
END
$$;
