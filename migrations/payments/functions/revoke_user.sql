-- distribute: coordinator
-- Ends a user's membership of a merchant, and adds the event. Deletes the user's invitations too, and those that the user has
-- made and nobody has accepted: they may lead to another address of the user. p_user_id: the id that members see. Members may
-- also use the id of their own user record: they know no other id of themselves.
--
-- Verdict: that of judge_access; not-found; last-user when a user would remove the last user of a live merchant without an app:
-- nobody could then reach the merchant and its money through the API. An invited user is no member yet, and an app without a
-- good key does not count; done. (reference: Users of a merchant)
--
-- Lock order: the memberships of apps, those of users, the invitations of the user, those by the user, the balance. All members
-- are locked so that, of two members that leave at once, the second sees who is left. Access is judged again under the locks:
-- an app that leaves a live merchant counts on its users, so it removes none of them afterwards. accept_invitation takes the
-- membership before its invitations too, and invite_user takes it before the balance, so that two calls never wait for each
-- other. The invitation that invite_user may add under the lock of the balance is new: nobody can wait for it.
CREATE OR REPLACE FUNCTION {{revoke_user}}(p_caller {{caller}}, p_merchant_id text, p_user_id text)
RETURNS TABLE (verdict text, identity_id text)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  ended {{merchant_users}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  PERFORM FROM {{merchant_apps}} a WHERE a.merchant_id = p_merchant_id ORDER BY a.app_id FOR SHARE;
  PERFORM FROM {{merchant_users}} u WHERE u.merchant_id = p_merchant_id AND NOT u.pending ORDER BY u.user_id FOR UPDATE;
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  SELECT u.* INTO ended FROM {{merchant_users}} u
    WHERE u.merchant_id = p_merchant_id
      AND (coalesce(u.member_id, u.user_id) = p_user_id OR u.user_id = p_user_id AND NOT u.pending)
    FOR UPDATE;
  IF NOT ended.pending
    AND NOT EXISTS (SELECT FROM {{merchants}} m WHERE m.id = p_merchant_id AND m.test)
    AND NOT EXISTS (
      SELECT FROM {{merchant_apps}} a JOIN {{app_keys}} k ON k.app_id = a.app_id AND {{include:is_good_key.sql key => k}}
      WHERE a.merchant_id = p_merchant_id
    )
    AND NOT EXISTS (
      SELECT FROM {{merchant_users}} u
      WHERE u.merchant_id = p_merchant_id AND NOT u.pending AND u.user_id <> ended.user_id
    )
  THEN
    verdict := 'last-user';
    RETURN NEXT; RETURN;
  END IF;
  DELETE FROM {{merchant_users}} u WHERE u.merchant_id = p_merchant_id AND u.user_id = ended.user_id;
  IF FOUND THEN
    PERFORM {{end_invitations_by}}(p_merchant_id, identity_id, ended.user_id);
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
