-- distribute: p_merchant_id
-- Removes a webhook of a merchant.
--
-- Verdict: that of judge_access; not-found; done.
--
-- Lock order: only the webhook. The entry of the audit log is a new row.
CREATE OR REPLACE FUNCTION {{delete_webhook}}(p_caller {{caller}}, p_merchant_id text, p_webhook_id text)
RETURNS TABLE (verdict text, identity_id text)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  DELETE FROM {{webhooks}} w WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id;
  IF FOUND THEN
    PERFORM {{add_audit}}(
      p_merchant_id, identity_id, 'webhook.deleted', jsonb_build_object('webhookId', p_webhook_id)
    );
  ELSE
    verdict := 'not-found';
  END IF;
  RETURN NEXT;
END
$$;
