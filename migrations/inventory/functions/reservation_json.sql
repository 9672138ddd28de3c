-- Returns a reservation in the format of the API. PostgreSQL builds it, because the response is stored for idempotent requests.
CREATE OR REPLACE FUNCTION {{reservation_json}}(r {{reservations}})
RETURNS json
LANGUAGE sql
STABLE
AS $$
  SELECT json_build_object(
    'id', r.id, 'productId', r.product_id, 'locationId', r.location_id,
    'quantity', r.quantity, 'remaining', r.remaining, 'status', r.status, 'reference', r.reference,
    'expiresAt', {{rfc3339}}(r.expires_at), 'createdAt', {{rfc3339}}(r.created_at)
  )
$$;
