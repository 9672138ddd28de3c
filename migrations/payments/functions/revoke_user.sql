-- distribute: coordinator
-- Ends a user's membership of a merchant, and adds the event. Deletes the user's open invitations too. p_user_id: the id that
-- members see. Members may also use the id of their own user record: they know no other id of themselves.
--
-- Verdict: that of judge_access; not-found; done. (reference: Users of a merchant)
--
-- Lock order: the memberships of apps, that of the user, its invitations, the balance. Access is judged again under the first:
-- an app that leaves a live merchant counts on its users, so it removes none of them afterwards. accept_invitation takes the
-- membership before its invitations too, and invite_user takes it before the balance, so that two calls never wait for each
-- other. The invitation that invite_user may add under the lock of the balance is new: nobody can wait for it.
CREATE OR REPLACE FUNCTION {{revoke_user}}(p_caller {{caller}}, p_merchant_id text, p_user_id text)
RETURNS TABLE (verdict text, identity_id text)
LANGUAGE plpgsql SECURITY DEFINER
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
  ended {{merchant_users}};
BEGIN
  PERFORM {{hold_merchant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  PERFORM FROM {{merchant_apps}} a WHERE a.merchant_id = p_merchant_id ORDER BY a.app_id FOR SHARE;
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  DELETE FROM {{merchant_users}} u
    WHERE u.merchant_id = p_merchant_id
      AND (coalesce(u.member_id, u.user_id) = p_user_id OR u.user_id = p_user_id AND NOT u.pending)
    RETURNING u.* INTO ended;
  IF FOUND THEN
    PERFORM {{record_event}}(
      p_merchant_id, 'user.revoked', coalesce(ended.member_id, ended.user_id), {{user_member}}(ended)
    );
    PERFORM {{add_audit}}(
      p_merchant_id, identity_id, 'user.revoked', jsonb_build_object('userId', ended.user_id)
    );
  ELSE
    verdict := 'not-found';
  END IF;
  RETURN NEXT;
END
$$;
