-- Returns a level in the format of the API. PostgreSQL builds it, because the response is stored for idempotent requests.
CREATE OR REPLACE FUNCTION {{level_json}}(l {{stock_levels}})
RETURNS json
LANGUAGE sql
STABLE
AS $$
  SELECT json_build_object(
    'productId', l.product_id, 'locationId', l.location_id,
    'onHand', l.on_hand, 'reserved', l.reserved, 'available', l.on_hand - l.reserved,
    'updatedAt', {{rfc3339}}(l.updated_at)
  )
$$;
