-- Changes a level and inserts the movement, under the lock of the level. No other function changes stock. One rule prevents
-- overselling: the available quantity after the movement is not below zero. Only incoming stock needs a check of the product and
-- the location: outgoing stock has a level, so both exist.
--
-- m: the movement, without on_hand_after, reserved_after and created_at, and without an id unless the caller has chosen one.
-- Returns the inserted movement. Refuses with location-inactive, above-limit, insufficient-stock (with the available quantity),
-- product-not-found or location-not-found.
--
-- Lock order: the level, then for incoming stock the product and the location. move_stock, which brings stock in, has locked the
-- level before (see check_target.sql).
CREATE OR REPLACE FUNCTION {{apply_movement}}(m {{movements}})
RETURNS {{movements}}
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  held {{stock_levels}};
BEGIN
  IF m.on_hand_delta > 0 AND NOT {{check_target}}(m.product_id, m.location_id) THEN
    PERFORM {{refuse}}('location-inactive', NULL);
  END IF;
  LOOP
    -- updated_at of a level always rises, even if the clock goes back. So the movements of a level have an order.
    UPDATE {{stock_levels}} l
      SET on_hand = l.on_hand + m.on_hand_delta, reserved = l.reserved + m.reserved_delta,
        updated_at = greatest(clock_timestamp(), l.updated_at + interval '1 microsecond')
      WHERE l.product_id = m.product_id AND l.location_id = m.location_id
        AND l.on_hand - l.reserved + m.on_hand_delta - m.reserved_delta >= 0
        AND l.on_hand + m.on_hand_delta <= 1000000000000
      RETURNING l.on_hand, l.reserved, l.updated_at INTO m.on_hand_after, m.reserved_after, m.created_at;
    EXIT WHEN FOUND;
    -- The level may have changed since the UPDATE. If the movement has become possible, the loop runs again.
    SELECT * INTO held FROM {{stock_levels}} l
      WHERE l.product_id = m.product_id AND l.location_id = m.location_id;
    IF held.on_hand + m.on_hand_delta > 1000000000000 THEN
      PERFORM {{refuse}}('above-limit', NULL);
    ELSIF held.product_id IS NULL OR held.on_hand - held.reserved + m.on_hand_delta - m.reserved_delta < 0 THEN
      PERFORM {{refuse_stock}}(m.product_id, m.location_id, 'insufficient-stock',
        coalesce(held.on_hand - held.reserved, 0));
    END IF;
  END LOOP;
  m.id := coalesce(m.id, nextval('{{movements_id_seq}}'));
  INSERT INTO {{movements}} OVERRIDING SYSTEM VALUE SELECT (m).*;
  RETURN m;
END
$$;
