-- Reserves available stock. The level changes first: if this is refused, there is nothing to undo.
--
-- p_caller: the sender and the idempotency key. p_product_id, p_location_id, p_quantity: the stock to reserve.
-- p_expires_in_seconds: the lifetime of the reservation; null for no expiry. p_reference: the client's name for it, or null.
-- Returns done or replayed with the reservation, a verdict of claim_key, or a refusal of apply_movement.
--
-- Lock order: the key, the level. An idempotent request waits for the key before it locks any stock.
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
  -- The time of a level never goes back. If the clock has run ahead, that time is in the future. An expiry computed from it would
  -- be too late, so the lower of the two times counts.
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
