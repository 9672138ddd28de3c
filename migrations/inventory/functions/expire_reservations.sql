-- Expires due reservations: stock that was promised until a time and not taken by then becomes available again.
-- Other processes wait for it, because a request that lacks stock must see what the first one gives back.
-- When nothing is due, nobody waits. A reservation that somebody else has locked is left to the next call.
--
-- p_limit: how many reservations to expire at most.
-- Returns how many expired. As many as p_limit means that more may be due.
--
-- Lock order: the lock of this function, the reservations that are due, their levels by product and location. The first lets one
-- process at a time expire. Requests lock a reservation before its level, and levels in this order, so that this function and a
-- request never wait for each other.
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
  -- Reservations that another process has expired but not committed still look due here, so the lock waits for that process.
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
