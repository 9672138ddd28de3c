-- distribute: p_merchant_id
-- Sends the events after p_after to one webhook again, and enables the webhook for new events. Returns the number of events; NULL
-- if the webhook does not exist. An event that already waits in the outbox, for a replay to another webhook, is sent to both.
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
    INSERT INTO {{outbox}} AS o (merchant_id, id, kind, payload, created)
    VALUES (p_merchant_id, event_id, 'event', jsonb_build_object('webhookIds', jsonb_build_array(p_webhook_id)),
      date_trunc('milliseconds', clock_timestamp()))
    -- A row without webhookIds is for all webhooks. The new time keeps a process that has read the old row from deleting it.
    ON CONFLICT (merchant_id, id) DO UPDATE SET created = excluded.created, payload = CASE
      WHEN o.payload ? 'webhookIds'
      THEN jsonb_set(o.payload, '{webhookIds}', (o.payload -> 'webhookIds') || (excluded.payload -> 'webhookIds'))
      ELSE o.payload
    END;
    sent := sent + 1;
  END LOOP;
  RETURN sent;
END
$$;
