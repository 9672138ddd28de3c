-- distribute: coordinator
-- Ends a user's membership of a merchant, and adds the event. Also deletes the user's invitations, and the open invitations that
-- the user has made, because these may go to another address of the user. p_user_id: the id that members see. Users may also give
-- their own user id, because they know no other id of themselves.
--
-- Verdict:
--   that of judge_access
--   not-found: the merchant has no such user.
--   last-user: the call would remove the last user of a live merchant without apps.
--   done: the membership has ended.
--
-- Without its last user, nobody could reach the merchant and its money through the API. An invited user is not a member yet, and
-- an app without a valid key does not count. (reference: Users of a merchant)
--
-- Lock order: the memberships of apps, those of users, the invitations of the user, those by the user, the balance. The function
-- locks all members, so that if two members leave in parallel, the second call sees the remaining members. It checks access again
-- under the locks: an app may leave a live merchant because users remain, and must not remove these users afterwards.
-- accept_invitation locks the membership before its invitations too, and invite_user locks it before the balance, so two calls
-- cannot deadlock. invite_user may add an invitation under the lock of the balance, but no call can wait for a new row.
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
