-- distribute: coordinator
-- Deletes the pending memberships of a merchant that a revoked member has requested, with their invitations, and adds an event
-- and an audit entry for each. Otherwise the member could return by an invitation to another address. p_identity_id: the revoking
-- caller. p_inviter_id: the revoked app or user. (reference: Invitations)
--
-- Lock order: the pending memberships, their invitations, the balance. So a caller adds no event before this call. The caller has
-- locked the members, and invite_user locks its own caller too, so no membership is added meanwhile.
CREATE OR REPLACE FUNCTION {{end_invitations_by}}(p_merchant_id text, p_identity_id text, p_inviter_id text)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  ended {{merchant_users}};
BEGIN
  -- Lock all rows first: a loop fetches only a few rows at a time, and the first event locks the balance.
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
