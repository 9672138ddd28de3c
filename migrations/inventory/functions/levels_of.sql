-- Returns the product and the location of each level in p_lines, once.
--
-- The order is the order in which the levels are locked.
CREATE OR REPLACE FUNCTION {{levels_of}}(p_lines {{stock_line}}[])
RETURNS TABLE (product_id bigint, location_id bigint)
LANGUAGE sql
IMMUTABLE
AS $$
  SELECT DISTINCT l.product_id, place.location_id
  FROM unnest(p_lines) l CROSS JOIN LATERAL (VALUES (l.location_id), (l.to_location_id)) AS place (location_id)
  WHERE place.location_id IS NOT NULL
  ORDER BY 1, 2
$$;
