-- Checks that stock can be changed for a product at a location. Refuses when either does not exist.
-- Both rows stay locked until the transaction ends, so their deletion waits for it (see 0005-guard-stock.ts).
--
-- Returns whether the location takes stock: false when it is inactive.
--
-- Lock order: the product, the location. Every call takes them in this order. The caller has locked the level of both before, or
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
