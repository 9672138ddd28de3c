-- Executes one line of a request. The caller has locked its levels (see lock_levels.sql). A line with a counted or expected
-- quantity needs an existing product and location, even if the line changes nothing.
--
-- Returns the ids of the inserted movements. A transfer inserts two, and the id of the first is its transfer_id. Refuses with
-- stale-quantity (with the quantity on hand) if on_hand is not the expected quantity, and with the refusals of apply_movement.
--
-- Lock order: the levels, which the caller has locked, the product, the location (see check_target.sql).
CREATE OR REPLACE FUNCTION {{move_line}}(l {{stock_line}}, p_actor text)
RETURNS bigint[]
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  held bigint;
  transfer_id bigint := CASE WHEN l.to_location_id IS NOT NULL THEN nextval('{{movements_id_seq}}') END;
  written bigint;
BEGIN
  IF l.counted IS NOT NULL OR l.expected_on_hand IS NOT NULL THEN
    PERFORM {{check_target}}(l.product_id, l.location_id);
    SELECT s.on_hand INTO held FROM {{stock_levels}} s
      WHERE s.product_id = l.product_id AND s.location_id = l.location_id;
    IF held <> l.expected_on_hand THEN PERFORM {{refuse}}('stale-quantity', held); END IF;
  END IF;
  written := ({{apply_movement}}(ROW(transfer_id, l.product_id, l.location_id, l.type,
    coalesce(l.on_hand_delta, l.counted - coalesce(held, 0)), 0, NULL, NULL,
    l.reason, l.reference, transfer_id, NULL, p_actor, NULL)::{{movements}})).id;
  IF transfer_id IS NULL THEN RETURN ARRAY[written]; END IF;
  RETURN ARRAY[written, ({{apply_movement}}(ROW(NULL, l.product_id, l.to_location_id, l.type,
    -l.on_hand_delta, 0, NULL, NULL,
    l.reason, l.reference, transfer_id, NULL, p_actor, NULL)::{{movements}})).id];
END
$$;
