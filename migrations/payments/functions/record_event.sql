-- distribute: everywhere
-- Appends an event that concerns no money. Its id is created under the merchant's lock, so its row and its job are new.
CREATE OR REPLACE FUNCTION {{record_event}}(p_merchant_id text, p_type text, p_object_id text, p_data jsonb)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  ids record := {{take_ids}}(p_merchant_id, 1);
BEGIN
  PERFORM {{add_event}}(
    p_merchant_id, {{id_at}}(ids.first, ids.tag), {{created_at}}(ids.first), p_type, p_object_id, p_data
  );
END
$$;
