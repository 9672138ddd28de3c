-- distribute: p_merchant_id
-- Has a webhook take events again, for an operator who sends it one. Returns false where there is no such
-- webhook. It stays locked until the commit, so nobody deletes it meanwhile. (console reference: Routes of
-- payments)
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
