-- distribute: coordinator
-- Accepts an invitation: its user becomes a member of the merchant. p_token_hash: the digest of the token in the mail. A token
-- that is unknown, used or expired changes nothing, and the caller sees no difference.
--
-- The call also uses up all other invitations of the user to the merchant. (reference: Invitations)
--
-- Lock order: the membership, its invitations. revoke_user takes locks in this order too, so the two cannot deadlock.
CREATE OR REPLACE FUNCTION {{accept_invitation}}(p_token_hash bytea)
RETURNS void
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  held record;
  moment timestamptz;
BEGIN
  SELECT u.merchant_id, u.user_id INTO held FROM {{invitations}} i
    JOIN {{merchant_users}} u ON u.merchant_id = i.merchant_id AND u.user_id = i.user_id
    WHERE i.token_hash = p_token_hash FOR UPDATE OF u;
  -- The invitation may have expired while this function waited for the lock of the membership.
  moment := date_trunc('milliseconds', clock_timestamp());
  PERFORM FROM {{invitations}} i
    WHERE i.token_hash = p_token_hash AND i.used IS NULL AND i.expires > moment;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE {{invitations}} i SET used = moment
    WHERE i.merchant_id = held.merchant_id AND i.user_id = held.user_id AND i.used IS NULL;
  UPDATE {{merchant_users}} u SET pending = false
    WHERE u.merchant_id = held.merchant_id AND u.user_id = held.user_id;
  PERFORM {{add_audit}}(
    held.merchant_id, held.user_id, 'user.accepted', jsonb_build_object('userId', held.user_id)
  );
END
$$;
