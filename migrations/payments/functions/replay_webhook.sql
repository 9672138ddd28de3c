-- distribute: p_merchant_id
-- Sends the events after p_after to one webhook again, and enables the webhook for new events. Returns the number of events; NULL
-- if the webhook does not exist. Skips events that already wait in the outbox: they will be sent anyway.
--
-- Lock order: the webhook, the jobs by the id of their event. Two calls for one merchant lock the jobs in the same order, which
-- prevents deadlocks.
CREATE OR REPLACE FUNCTION {{replay_webhook}}(p_merchant_id text, p_webhook_id text, p_after text)
RETURNS bigint
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  event_id text;
  sent bigint := 0;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  UPDATE {{webhooks}} w SET disabled = NULL WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM {{add_audit}}(
    p_merchant_id, NULL, 'webhook.replayed', jsonb_build_object('webhookId', p_webhook_id, 'after', p_after)
  );
  FOR event_id IN
    SELECT e.id FROM {{events}} e WHERE e.merchant_id = p_merchant_id AND e.id > p_after ORDER BY e.id
  LOOP
    PERFORM {{enqueue}}(p_merchant_id, event_id, 'event', jsonb_build_object('webhookId', p_webhook_id));
    sent := sent + 1;
  END LOOP;
  RETURN sent;
END
$$;
