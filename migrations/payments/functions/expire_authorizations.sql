-- distribute: p_merchant_id
-- Voids the rest of authorizations older than p_days by the merchant's clock, in at most p_limit transactions. Returns the number
-- of checked and of voided transactions. If it has checked p_limit transactions, there may be more.
--
-- The login of the service can pass any p_days, so the function refuses a number below 0: it would void new authorizations.
--
-- A pending amount normally only shrinks, so each transaction is checked once: the next call continues after expired_id.
-- (reference: Expiry of authorizations)
--
-- Lock order: the transactions by their id, the balance. run_operations uses the same order, which prevents deadlocks.
CREATE OR REPLACE FUNCTION {{expire_authorizations}}(p_merchant_id text, p_days int, p_limit int)
RETURNS TABLE (looked_at int, voided int)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  until_id text := {{first_id}}(
    {{merchant_now}}(p_merchant_id) - p_days * interval '1 day'
  );
  since_id text;
  old {{transactions}};
  held {{transactions}}[] := '{}';
  newest text;
  movements {{movement}}[];
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  IF (p_days >= 0) IS NOT TRUE THEN
    RAISE EXCEPTION 'authorizations expire after 0 days or more' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT b.expired_id INTO since_id FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id;
  FOR old IN
    SELECT t.* FROM {{transactions}} t
    WHERE t.merchant_id = p_merchant_id AND t.id > since_id AND t.id < until_id
    ORDER BY t.id LIMIT p_limit FOR UPDATE
  LOOP
    held := held || old;
  END LOOP;
  looked_at := cardinality(held);
  voided := 0;
  IF looked_at > 0 THEN
    SELECT array_agg({{void_movement}}(t)) INTO movements FROM unnest(held) t
      WHERE t.pending > 0 AND t.trail_length < 10000;
    IF movements IS NOT NULL THEN
      PERFORM {{post}}(movements);
      UPDATE {{transactions}} t
        SET pending = v.pending, voided = v.voided, trail_length = v.seq
        FROM unnest(movements) v WHERE t.merchant_id = p_merchant_id AND t.id = v.transaction_id;
      voided := cardinality(movements);
    END IF;
    newest := (held[looked_at]).id;
    UPDATE {{merchant_balances}} b SET expired_id = greatest(b.expired_id, newest)
      WHERE b.merchant_id = p_merchant_id;
  END IF;
  RETURN NEXT;
END
$$;
