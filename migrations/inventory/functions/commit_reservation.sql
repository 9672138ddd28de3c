-- Ships stock that is reserved.
-- A due reservation never commits, whether or not clean-up has expired it.
--
-- p_caller: who asks, and the key of the request.
-- p_quantity: how much to ship; null ships all that remains.
-- Returns done or replayed with the reservation, a verdict about the key, not-found, above-remaining (with the quantity that
-- remains), or the status of a reservation that is over.
--
-- Lock order: the key, the reservation, its level. A repeat waits at the key before it locks any stock. Every function locks a
-- reservation before its level, so that two of them never wait for each other.
CREATE OR REPLACE FUNCTION {{commit_reservation}}(p_caller {{caller}}, p_id bigint, p_quantity bigint)
RETURNS TABLE (verdict text, answer json, quantity bigint, line integer)
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
#variable_conflict use_column
DECLARE
  claim record;
  refused text;
  r {{reservations}};
  taken bigint;
BEGIN
{{include:begin_answered_call.sql}}

  SELECT * INTO r FROM {{reservations}} v WHERE v.id = p_id FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM {{refuse}}('not-found', NULL);
  ELSIF r.status <> 'active' THEN
    PERFORM {{refuse}}(r.status, NULL);
  ELSIF r.expires_at <= clock_timestamp() THEN
    PERFORM {{refuse}}('expired', NULL);
  ELSIF p_quantity > r.remaining THEN
    PERFORM {{refuse}}('above-remaining', r.remaining);
  END IF;
  taken := coalesce(p_quantity, r.remaining);
  PERFORM {{apply_movement}}(ROW(NULL, r.product_id, r.location_id, 'ship', -taken, -taken, NULL, NULL,
    NULL, r.reference, NULL, r.id, p_caller.actor, NULL)::{{movements}});
  -- The level may have been free only after the end of the reservation.
  UPDATE {{reservations}} v
    SET remaining = v.remaining - taken, status = CASE v.remaining WHEN taken THEN 'committed' ELSE v.status END
    WHERE v.id = r.id AND (v.expires_at > clock_timestamp()) IS NOT FALSE
    RETURNING v.* INTO r;
  IF NOT FOUND THEN PERFORM {{refuse}}('expired', NULL); END IF;
  answer := {{reservation_json}}(r);

  IF p_caller.key IS NOT NULL THEN
    PERFORM {{finish_key}}(p_caller, 200, NULL, answer);
  END IF;
{{include:end_answered_call.sql}}
END
$$;
