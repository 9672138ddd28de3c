-- distribute: p_merchant_id
-- Enables a webhook again, for an operator who sends an event to it. Returns false if the webhook does not exist. The row stays
-- locked until the commit, so nobody deletes the webhook meanwhile. (console reference: Routes of payments)
--
-- Lock order: the webhook.
CREATE OR REPLACE FUNCTION {{enable_webhook}}(p_merchant_id text, p_webhook_id text)
RETURNS boolean
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  UPDATE {{webhooks}} w SET disabled = NULL WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id;
  RETURN FOUND;
END
$$;
