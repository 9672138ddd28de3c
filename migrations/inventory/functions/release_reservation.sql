-- Releases a reservation: gives back what remains of it. The row of the reservation is locked before its level, as everywhere.
-- A due reservation is over and is not released, whether or not a sweep has expired it.
--
-- p_actor: who asks.
-- p_id: the reservation.
-- Returns the status before the call, or not-found. `active` means that this call released the reservation.
CREATE OR REPLACE FUNCTION {{release_reservation}}(p_actor text, p_id bigint)
RETURNS text
LANGUAGE plpgsql
SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = 'off'
AS $$
DECLARE
  r {{reservations}};
BEGIN
  SELECT * INTO r FROM {{reservations}} v WHERE v.id = p_id FOR UPDATE;
  IF r.status = 'active' AND r.expires_at <= clock_timestamp() THEN RETURN 'expired'; END IF;
  IF r.status = 'active' THEN PERFORM {{end_reservation}}(r, 'release', 'released', p_actor); END IF;
  RETURN coalesce(r.status, 'not-found');
END
$$;
