-- Expires due reservations, so that their stock becomes available again. Other processes wait for a running call, because a
-- request that lacks stock must see the stock that this call gives back. If no reservation is due, the function takes no lock.
-- The function skips reservations that another transaction has locked; a later call expires them.
--
-- p_limit: the maximum number of reservations to expire. Returns the number of expired reservations. If it equals p_limit, more
-- may be due.
--
-- Lock order: the lock of this function, the due reservations, their levels by product and location. The first lock lets only one
-- process at a time expire reservations. Requests lock a reservation before its level, and levels in this order, so this function
-- and a request cannot deadlock.
CREATE OR REPLACE FUNCTION {{expire_reservations}}(p_limit integer)
RETURNS integer
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  due timestamptz := clock_timestamp();
  r {{reservations}};
  expired int := 0;
BEGIN
  -- Reservations that another process has expired but not committed yet look due here. The lock waits for that process.
  PERFORM FROM {{reservations}} v WHERE v.status = 'active' AND v.expires_at <= due LIMIT 1;
  IF NOT FOUND THEN RETURN 0; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('{{expire_reservations}}', 0));
  FOR r IN
    SELECT * FROM (
      SELECT * FROM {{reservations}} v
      WHERE v.status = 'active' AND v.expires_at <= due
      ORDER BY v.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ) v ORDER BY v.product_id, v.location_id, v.id
  LOOP
    PERFORM {{end_reservation}}(r, 'expire', 'expired', NULL);
    expired := expired + 1;
  END LOOP;
  RETURN expired;
END
$$;
