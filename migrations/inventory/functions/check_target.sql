-- Returns whether a location accepts stock: false if it is inactive. Refuses if the product or the location does not exist.
--
-- Both rows stay locked until the database transaction ends, so their deletion waits for it (see 0005-guard-stock.ts).
--
-- Lock order: the product, the location. Every call locks them in this order. The caller has locked their level before, or
-- refuses the request in any case (see refuse_stock.sql).
CREATE OR REPLACE FUNCTION {{check_target}}(p_product_id bigint, p_location_id bigint)
RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
  is_active boolean;
BEGIN
  PERFORM FROM {{products}} p WHERE p.id = p_product_id AND p.deleted_at IS NULL FOR KEY SHARE;
  IF NOT FOUND THEN PERFORM {{refuse}}('product-not-found', NULL); END IF;
  SELECT l.active INTO is_active FROM {{locations}} l
    WHERE l.id = p_location_id AND l.deleted_at IS NULL FOR KEY SHARE;
  IF NOT FOUND THEN PERFORM {{refuse}}('location-not-found', NULL); END IF;
  RETURN is_active;
END
$$;
