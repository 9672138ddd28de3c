-- distribute: p_merchant_id
-- Replaces the secret of a webhook. For a day both secrets sign, so that a client can switch without an interruption.
-- p_secret_sealed: NULL to check access only.
--
-- Verdict: that of judge_access or claim_key; not-found; done with the row.
--
-- Lock order: the webhook, the key. Every call locks them in this order, so two calls cannot deadlock. The key is claimed only if
-- the webhook exists, and the lock prevents its deletion before the commit.
CREATE OR REPLACE FUNCTION {{rotate_webhook_secret}}(
  p_caller {{caller}}, p_merchant_id text, p_webhook_id text, p_secret_sealed bytea
)
RETURNS TABLE (verdict text, identity_id text, webhook {{webhooks}})
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  claimed record;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' OR p_secret_sealed IS NULL THEN RETURN NEXT; RETURN; END IF;
  SELECT w.* INTO webhook FROM {{webhooks}} w
    WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id FOR UPDATE;
  IF NOT FOUND THEN verdict := 'not-found'; RETURN NEXT; RETURN; END IF;
  {{include:claim_key_of_webhook.sql}}
  UPDATE {{webhooks}} w SET secret_sealed = p_secret_sealed, previous_sealed = w.secret_sealed,
      previous_until = now() + interval '24 hours'
    WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id RETURNING w.* INTO webhook;
  PERFORM {{add_audit}}(
    p_merchant_id, identity_id, 'webhook.secret-rotated', jsonb_build_object('webhookId', p_webhook_id)
  );
  PERFORM {{finish_key}}(
    p_caller, p_merchant_id, identity_id, 201, p_webhook_id, NULL, to_jsonb(webhook)::text
  );
  RETURN NEXT;
END
$$;
