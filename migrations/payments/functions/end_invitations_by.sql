-- distribute: coordinator
-- Ends the pending memberships of a merchant that a revoked member has asked for, with their invitations, and adds an event and
-- an entry of the audit log for each. Otherwise the member could come back by an invitation of another address. p_identity_id:
-- who revokes. p_inviter_id: the revoked app or user. (reference: Invitations)
--
-- Lock order: the pending memberships, their invitations, the balance, so a caller has no event yet. The caller has locked the
-- members, so that invite_user, which locks its caller too, adds none meanwhile.
CREATE OR REPLACE FUNCTION {{end_invitations_by}}(p_merchant_id text, p_identity_id text, p_inviter_id text)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  ended {{merchant_users}};
BEGIN
  -- A loop fetches few rows at a time. All are locked before the first event locks the balance.
  PERFORM FROM {{merchant_users}} u
    WHERE u.merchant_id = p_merchant_id AND u.pending AND u.invited_by = p_inviter_id
    ORDER BY u.user_id FOR UPDATE;
  FOR ended IN
    SELECT u.* FROM {{merchant_users}} u
      WHERE u.merchant_id = p_merchant_id AND u.pending AND u.invited_by = p_inviter_id
      ORDER BY u.user_id
  LOOP
    DELETE FROM {{merchant_users}} u WHERE u.merchant_id = p_merchant_id AND u.user_id = ended.user_id;
    PERFORM {{record_event}}(
      p_merchant_id, 'user.revoked', coalesce(ended.member_id, ended.user_id), {{user_member}}(ended)
    );
    PERFORM {{add_audit}}(
      p_merchant_id, p_identity_id, 'user.revoked', jsonb_build_object('userId', ended.user_id)
    );
  END LOOP;
END
$$;
