-- distribute: coordinator
-- Ends an app's membership of a merchant, and adds the event. The next call of the app is refused.
--
-- Verdict: that of judge_access; not-found; last-app when an app would remove the last app: nobody could then reach the merchant
-- and its money through the API. A user who is a member may remove it. (reference: Apps of a merchant)
--
-- Lock order: the memberships of all apps by the id of the app, the balance. All are locked so that, of two apps that remove
-- themselves or each other at once, the second sees that it is the last.
CREATE OR REPLACE FUNCTION {{revoke_app}}(p_caller {{caller}}, p_merchant_id text, p_app_id text)
RETURNS TABLE (verdict text, identity_id text)
LANGUAGE plpgsql SECURITY DEFINER
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
  PERFORM {{hold_merchant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  PERFORM FROM {{merchant_apps}} a WHERE a.merchant_id = p_merchant_id ORDER BY a.app_id FOR UPDATE;
  IF p_app_id IS NOT NULL AND EXISTS (SELECT FROM {{apps}} a WHERE a.id = identity_id) AND NOT EXISTS (
    SELECT FROM {{merchant_apps}} a WHERE a.merchant_id = p_merchant_id AND a.app_id <> p_app_id
  ) THEN
    verdict := 'last-app';
    RETURN NEXT; RETURN;
  END IF;
  DELETE FROM {{merchant_apps}} a WHERE a.merchant_id = p_merchant_id AND a.app_id = p_app_id;
  IF FOUND THEN
    PERFORM {{record_event}}(p_merchant_id, 'app.revoked', p_app_id, NULL);
    PERFORM {{add_audit}}(
      p_merchant_id, identity_id, 'app.revoked', jsonb_build_object('appId', p_app_id)
    );
  ELSE
    verdict := 'not-found';
  END IF;
  RETURN NEXT;
END
$$;
