-- distribute: coordinator
-- Deletes events older than 30 days, which are no longer listed, at most p_limit. Returns how many. Ids begin with their time.
-- Rows that are locked stay for the next call.
--
-- The service has no right to delete events itself: with it, its login could hide from a merchant what was done to the merchant.
CREATE OR REPLACE FUNCTION {{delete_old_events}}(p_merchant_ids text[], p_limit int)
RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  deleted int;
BEGIN
  DELETE FROM {{events}} WHERE ctid = ANY (ARRAY(
    SELECT o.ctid FROM unnest(p_merchant_ids) AS m (id) CROSS JOIN LATERAL (
      SELECT e.ctid FROM {{events}} e
      WHERE e.merchant_id = m.id
        AND e.id < lpad(to_hex(floor(extract(epoch FROM now() - interval '30 days'))::bigint), 8, '0')
      LIMIT p_limit FOR UPDATE SKIP LOCKED
    ) o LIMIT p_limit
  ));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END
$$;
