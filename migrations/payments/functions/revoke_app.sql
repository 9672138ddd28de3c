-- distribute: coordinator
-- Ends an app's membership of a merchant, and adds the event. The next call of the app is refused. Also deletes the open
-- invitations that the app has made.
--
-- Verdict:
--   that of judge_access
--   not-found: the app is no member of the merchant.
--   last-app: an app would remove the last app of a live merchant without users.
--   done: the membership has ended.
--
-- Without its last app, nobody could reach the merchant and its money through the API. A user who is a member may remove the last
-- app. An invited user is not a member yet, and an app without a valid key does not count. (reference: Apps of a merchant)
--
-- Lock order: the memberships of all apps by the id of the app, those of users, invitations by the app, the balance. The function
-- locks all members, so that if two members remove themselves or each other in parallel, the second call sees the remaining
-- members. It checks access again under the locks, because the first call may have removed the caller of the second.
CREATE OR REPLACE FUNCTION {{revoke_app}}(p_caller {{caller}}, p_merchant_id text, p_app_id text)
RETURNS TABLE (verdict text, identity_id text)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  PERFORM FROM {{merchant_apps}} a WHERE a.merchant_id = p_merchant_id ORDER BY a.app_id FOR UPDATE;
  PERFORM FROM {{merchant_users}} u WHERE u.merchant_id = p_merchant_id AND NOT u.pending ORDER BY u.user_id FOR SHARE;
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  IF p_app_id IS NOT NULL AND EXISTS (SELECT FROM {{apps}} a WHERE a.id = identity_id)
    AND NOT EXISTS (SELECT FROM {{merchants}} m WHERE m.id = p_merchant_id AND m.test)
    AND NOT EXISTS (
      SELECT FROM {{merchant_apps}} a JOIN {{app_keys}} k ON k.app_id = a.app_id AND {{include:is_good_key.sql key => k}}
      WHERE a.merchant_id = p_merchant_id AND a.app_id <> p_app_id
    )
    AND NOT EXISTS (SELECT FROM {{merchant_users}} u WHERE u.merchant_id = p_merchant_id AND NOT u.pending)
  THEN
    verdict := 'last-app';
    RETURN NEXT; RETURN;
  END IF;
  DELETE FROM {{merchant_apps}} a WHERE a.merchant_id = p_merchant_id AND a.app_id = p_app_id;
  IF FOUND THEN
    PERFORM {{end_invitations_by}}(p_merchant_id, identity_id, p_app_id);
    -- The event contains the app, because clean-up may delete it from now on.
    PERFORM {{record_event}}(
      p_merchant_id, 'app.revoked', p_app_id, (SELECT to_jsonb(a) FROM {{apps}} a WHERE a.id = p_app_id)
    );
    PERFORM {{add_audit}}(
      p_merchant_id, identity_id, 'app.revoked', jsonb_build_object('appId', p_app_id)
    );
  ELSE
    verdict := 'not-found';
  END IF;
  RETURN NEXT;
END
$$;
