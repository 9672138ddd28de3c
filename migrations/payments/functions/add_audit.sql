-- distribute: everywhere
-- Appends a row to the audit log. p_merchant_id: NULL for an action that concerns no merchant; its row has an id of 24 zeros.
-- p_identity_id: the app or user that acted, NULL for an operator. Takes no lock: the id comes from a counter, and no row is
-- changed later.
--
-- Each server of a cluster has its own counter. The coordinator and the merchant's server may create the same id in the same
-- millisecond. Then the second of them takes the next id.
CREATE OR REPLACE FUNCTION {{add_audit}}(p_merchant_id text, p_identity_id text, p_action text, p_payload jsonb)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  merchant text := coalesce(p_merchant_id, repeat('0', 24));
  merchant_tag text := coalesce((SELECT m.tag FROM {{merchants}} m WHERE m.id = p_merchant_id), '00000000');
  made record;
BEGIN
  LOOP
    made := {{new_id}}(merchant_tag);
    INSERT INTO {{audit}} (merchant_id, id, identity_id, action, payload, created)
      VALUES (merchant, made.id, p_identity_id, p_action, p_payload, made.created)
      ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
  END LOOP;
END
$$;
