-- distribute: coordinator
-- Makes an app a member of a merchant, and adds the event. p_app_id: NULL to check access only.
--
-- Verdict: that of judge_access or claim_key; unknown-app; done. An existing membership stays unchanged. (reference: Apps of a
-- merchant)
--
-- The event and the stored response contain the app, because clean-up may delete an app that left the merchant.
--
-- Lock order: the key, the membership with its app, the balance. An idempotent request waits for the key before it locks
-- anything. The membership comes before the balance, as in revoke_app, so the two cannot deadlock. The foreign key of the
-- membership locks the app, so create_key and revoke_key of the app wait for the commit.
CREATE OR REPLACE FUNCTION {{add_app}}(p_caller {{caller}}, p_merchant_id text, p_app_id text)
RETURNS TABLE (verdict text, identity_id text, app {{apps}})
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  claimed record;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' OR p_app_id IS NULL THEN RETURN NEXT; RETURN; END IF;
  claimed := {{claim_key}}(p_caller, p_merchant_id, identity_id);
  IF claimed.verdict <> 'claimed' THEN
    verdict := claimed.verdict;
    app := jsonb_populate_record(NULL::{{apps}}, (claimed.held).body::jsonb);
    RETURN NEXT; RETURN;
  END IF;
  SELECT a.* INTO app FROM {{apps}} a WHERE a.id = p_app_id;
  IF NOT FOUND THEN
    verdict := 'unknown-app';
    PERFORM {{release_key}}(p_caller, p_merchant_id, identity_id);
    RETURN NEXT; RETURN;
  END IF;
  INSERT INTO {{merchant_apps}} (merchant_id, app_id, invited_by, created)
    VALUES (p_merchant_id, p_app_id, identity_id, date_trunc('milliseconds', clock_timestamp()))
    -- An app has one membership of a merchant. A parallel call for the same app waits here, and adds no event.
    ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM {{record_event}}(p_merchant_id, 'app.added', p_app_id, to_jsonb(app));
    PERFORM {{add_audit}}(
      p_merchant_id, identity_id, 'app.added', jsonb_build_object('appId', p_app_id)
    );
  END IF;
  PERFORM {{finish_key}}(p_caller, p_merchant_id, identity_id, 201, p_app_id, NULL, to_jsonb(app)::text);
  RETURN NEXT;
END
$$;
