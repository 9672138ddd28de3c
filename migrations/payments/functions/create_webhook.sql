-- distribute: p_merchant_id
-- Adds a webhook to a merchant. p_url: the parsed URL; NULL to check only access. p_secret_sealed: the encrypted secret.
-- p_allow_http: whether events of a test merchant may be sent without TLS.
--
-- Verdict: that of judge_access or claim_key; not-https; too-many; done with the row.
--
-- Lock order: the key, the balance. The key comes first, so that an idempotent request waits for it without the lock of the
-- balance, which all other work on the merchant needs. Webhooks are counted under the lock of the balance, so only one call
-- counts at a time.
CREATE OR REPLACE FUNCTION {{create_webhook}}(
  p_caller {{caller}}, p_merchant_id text, p_url text, p_events text[], p_secret_sealed bytea, p_allow_http boolean
)
RETURNS TABLE (verdict text, identity_id text, webhook {{webhooks}})
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  claimed record;
  ids record;
  is_test boolean;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' OR p_url IS NULL THEN RETURN NEXT; RETURN; END IF;
  {{include:claim_key_of_webhook.sql}}
  ids := {{take_ids}}(p_merchant_id, 1);
  SELECT m.test INTO is_test FROM {{merchants}} m WHERE m.id = p_merchant_id;
  verdict := CASE
    WHEN NOT starts_with(p_url, 'https://') AND NOT (p_allow_http AND is_test) THEN 'not-https'
    WHEN (SELECT count(*) FROM {{webhooks}} w WHERE w.merchant_id = p_merchant_id) >= 10
      THEN 'too-many'
    ELSE 'done'
  END;
  IF verdict <> 'done' THEN
    PERFORM {{release_key}}(p_caller, p_merchant_id, identity_id);
    RETURN NEXT; RETURN;
  END IF;
  INSERT INTO {{webhooks}} AS w (merchant_id, id, created, url, events, secret_sealed)
    VALUES (p_merchant_id, {{id_at}}(ids.first, ids.tag), {{created_at}}(ids.first),
      p_url, p_events, p_secret_sealed)
    RETURNING w.* INTO webhook;
  PERFORM {{add_audit}}(
    p_merchant_id, identity_id, 'webhook.created', jsonb_build_object('webhookId', webhook.id, 'url', p_url)
  );
  PERFORM {{finish_key}}(
    p_caller, p_merchant_id, identity_id, 201, webhook.id, NULL, to_jsonb(webhook)::text
  );
  RETURN NEXT;
END
$$;
