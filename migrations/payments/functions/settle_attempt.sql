-- Stores the outcome of an attempt that was unknown. p_status: declined or reversed. False when the outcome was known already.
CREATE OR REPLACE FUNCTION {{settle_attempt}}(p_merchant_id text, p_attempt_id text, p_status text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF p_status NOT IN ('declined', 'reversed') THEN RAISE EXCEPTION '% is no outcome', p_status; END IF;
  UPDATE {{attempts}} a SET status = p_status
    WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id AND a.status = 'unknown';
  RETURN FOUND;
END
$$;
