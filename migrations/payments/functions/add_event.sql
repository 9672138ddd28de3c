-- distribute: everywhere
-- Appends an event with the current amounts of its transaction. p_id and p_created: taken under the merchant's lock, so that
-- events become visible in rising order. p_data: NULL if the object can be shown from its row.
--
-- Enqueues a delivery only if the merchant has an enabled webhook.
CREATE OR REPLACE FUNCTION {{add_event}}(
  p_merchant_id text, p_id text, p_created timestamptz, p_type text, p_object_id text, p_data jsonb
)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  t {{transactions}};
BEGIN
  SELECT x.* INTO t FROM {{transactions}} x WHERE x.merchant_id = p_merchant_id AND x.id = p_object_id;
  INSERT INTO {{events}} (
    merchant_id, id, created, type, object_id, pending, captured, refunded, voided, disputed, trail_length, data
  ) VALUES (
    p_merchant_id, p_id, p_created, p_type, p_object_id,
    t.pending, t.captured, t.refunded, t.voided, t.disputed, t.trail_length, p_data
  );
  PERFORM 1 FROM {{webhooks}} w WHERE w.merchant_id = p_merchant_id AND w.disabled IS NULL LIMIT 1;
  IF FOUND THEN PERFORM {{enqueue}}(p_merchant_id, p_id, 'event', '{}'); END IF;
END
$$;
