-- Refuses a request that lacks stock. If the product or the location does not exist, the refusal names that reason instead.
--
-- p_quantity: the available quantity.
--
-- Lock order: the product, the location (see check_target.sql). The request is refused in any case, so it waits for no further
-- lock.
CREATE OR REPLACE FUNCTION {{refuse_stock}}(
  p_product_id bigint, p_location_id bigint, p_verdict text, p_quantity bigint
)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  PERFORM {{check_target}}(p_product_id, p_location_id);
  PERFORM {{refuse}}(p_verdict, p_quantity);
END
$$;
