-- distribute: p_merchant_id
-- Disables a webhook that never answers, and adds an event that reports this to the merchant.
--
-- Lock order: the webhook, the balance. The balance comes last, because all other work on the merchant waits for its lock.
CREATE OR REPLACE FUNCTION {{disable_webhook}}(p_merchant_id text, p_webhook_id text)
RETURNS void
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  moment timestamptz := date_trunc('milliseconds', clock_timestamp());
  webhook {{webhooks}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  UPDATE {{webhooks}} w SET disabled = moment
    WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id AND w.disabled IS NULL RETURNING w.* INTO webhook;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM {{record_event}}(p_merchant_id, 'webhook.disabled', p_webhook_id, jsonb_build_object(
    'id', webhook.id, 'url', webhook.url, 'events', webhook.events, 'created', webhook.created,
    'disabled', webhook.disabled
  ));
END
$$;
