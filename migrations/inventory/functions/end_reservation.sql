-- Gives back the remaining quantity of a reservation, and ends the reservation. The caller has locked its row.
--
-- p_type: the type of the movement, release or expire. p_status: the new status of the reservation, released or expired. p_actor:
-- the user or app that releases it; null if it expires.
--
-- Lock order: the reservation, which the caller has locked, its level. Every function locks a reservation before its level, so
-- two functions cannot deadlock.
CREATE OR REPLACE FUNCTION {{end_reservation}}(r {{reservations}}, p_type text, p_status text, p_actor text)
RETURNS void
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
BEGIN
  PERFORM {{apply_movement}}(ROW(NULL, r.product_id, r.location_id, p_type, 0, -r.remaining, NULL, NULL,
    NULL, r.reference, NULL, r.id, p_actor, NULL)::{{movements}});
  UPDATE {{reservations}} v SET remaining = 0, status = p_status WHERE v.id = r.id;
END
$$;
