-- Reserves stock that is available. The level changes first: when it refuses, nothing else has been done.
--
-- p_caller: who asks, and the key of the request.
-- p_product_id, p_location_id, p_quantity: what to reserve.
-- p_expires_in_seconds: how long the reservation lasts; null for one that does not expire.
-- p_reference: what the client calls it, or null.
-- Returns done or replayed with the reservation, a verdict about the key, or a refusal of apply_movement.
--
-- Lock order: the key, the level. A repeat waits at the key before it locks any stock.
CREATE OR REPLACE FUNCTION {{reserve}}(
  p_caller {{caller}}, p_product_id bigint, p_location_id bigint, p_quantity bigint, p_expires_in_seconds integer,
  p_reference text
)
RETURNS TABLE (verdict text, answer json, quantity bigint, line integer)
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
#variable_conflict use_column
DECLARE
  claim record;
  refused text;
  m {{movements}};
  r {{reservations}};
BEGIN
{{include:begin_answered_call.sql}}

  m := {{apply_movement}}(ROW(NULL, p_product_id, p_location_id, 'reserve', 0, p_quantity, NULL, NULL,
    NULL, p_reference, NULL, nextval('{{reservations_id_seq}}'), p_caller.actor, NULL
  )::{{movements}});
  -- The time of a level never goes back. After a clock ran ahead for a moment, that time lies in the future, and a reservation
  -- that counted from it would last too long.
  INSERT INTO {{reservations}} AS made (
      id, product_id, location_id, quantity, remaining, reference, expires_at, created_at
    ) OVERRIDING SYSTEM VALUE
    VALUES (m.reservation_id, p_product_id, p_location_id, p_quantity, p_quantity, p_reference,
      least(m.created_at, clock_timestamp()) + p_expires_in_seconds * interval '1 second', m.created_at)
    RETURNING made.* INTO r;
  answer := {{reservation_json}}(r);

  IF p_caller.key IS NOT NULL THEN
    PERFORM {{finish_key}}(p_caller, 201, NULL, answer);
  END IF;
{{include:end_answered_call.sql}}
END
$$;
