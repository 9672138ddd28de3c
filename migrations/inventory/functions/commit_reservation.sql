-- Ships reserved stock. A due reservation cannot be committed, even if clean-up has not expired it yet.
--
-- p_caller: the sender and the idempotency key. p_quantity: the quantity to ship; null ships the whole remainder. Returns done or
-- replayed with the reservation, a verdict of claim_key, not-found, above-remaining (with the remaining quantity), or the status
-- of a reservation that has ended.
--
-- Lock order: the key, the reservation, its level. An idempotent request waits for the key before it locks any stock. Every
-- function locks a reservation before its level, so two functions cannot deadlock.
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
  -- The reservation may have ended while this function waited for the level.
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
