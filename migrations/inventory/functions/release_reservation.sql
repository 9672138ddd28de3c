-- Releases a reservation and gives back its remaining quantity. A due reservation has ended and cannot be released, even if
-- clean-up has not expired it yet.
--
-- Returns the status before the call, or not-found. `active` means that this call released the reservation.
--
-- Lock order: the reservation, its level. Every function locks a reservation before its level, so two functions cannot deadlock.
CREATE OR REPLACE FUNCTION {{release_reservation}}(p_actor text, p_id bigint)
RETURNS text
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  r {{reservations}};
BEGIN
  SELECT * INTO r FROM {{reservations}} v WHERE v.id = p_id FOR UPDATE;
  IF r.status = 'active' THEN
    -- The reservation may end while this function waits for the level.
    PERFORM FROM {{stock_levels}} l WHERE l.product_id = r.product_id AND l.location_id = r.location_id FOR NO KEY UPDATE;
  END IF;
  IF r.status = 'active' AND r.expires_at <= clock_timestamp() THEN RETURN 'expired'; END IF;
  IF r.status = 'active' THEN PERFORM {{end_reservation}}(r, 'release', 'released', p_actor); END IF;
  RETURN coalesce(r.status, 'not-found');
END
$$;
