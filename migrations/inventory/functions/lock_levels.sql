-- Locks all levels of p_lines, and creates missing levels. A level is created only if both the product and the location exist.
--
-- Lock order: the levels by product and location. All calls lock levels in this order, so two calls cannot deadlock.
CREATE OR REPLACE FUNCTION {{lock_levels}}(p_lines {{stock_line}}[])
RETURNS void
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  place record;
BEGIN
  FOR place IN SELECT * FROM {{levels_of}}(p_lines) LOOP
    PERFORM FROM {{stock_levels}} s
      WHERE s.product_id = place.product_id AND s.location_id = place.location_id FOR UPDATE;
    CONTINUE WHEN FOUND;
    INSERT INTO {{stock_levels}} (product_id, location_id)
      SELECT p.id, c.id FROM {{products}} p, {{locations}} c
      WHERE p.id = place.product_id AND p.deleted_at IS NULL
        AND c.id = place.location_id AND c.deleted_at IS NULL
      -- A product has one level at a location. Of two parallel requests, the second waits here for the first.
      ON CONFLICT DO NOTHING;
    CONTINUE WHEN FOUND;
    -- Another request may have created the level since the first SELECT.
    PERFORM FROM {{stock_levels}} s
      WHERE s.product_id = place.product_id AND s.location_id = place.location_id FOR UPDATE;
  END LOOP;
END
$$;
