-- distribute: coordinator
-- Invites the user of an email address to a merchant. p_email: NULL to check only access and to find the response of an
-- idempotent request. p_token_hash: the digest of the token in the mail. p_kind and p_payload: the job that sends the mail, which
-- this call inserts.
--
-- Verdict: that of judge_access or claim_key; done. A user who is a member gets no mail. An invited user gets at most one mail
-- every ten minutes. The event contains the membership instead of the user's shared record, because the id and date of that
-- record would reveal that another merchant has invited the address. (reference: Invitations)
--
-- Lock order: the membership of the caller, the key, the user, the invited membership, the balance. Access is checked again under
-- the first lock, because revoke_user and revoke_app end the invitations of a member and must find all of them. Only these two
-- functions conflict with that lock, so members who invite each other do not wait. The call locks no membership of another
-- member: revoke_user locks all members by id, so a deadlock would be possible. A pending membership comes after all members and
-- before the balance, as in revoke_user. The invitation is new, so nobody waits for it. On a distributed database, invitations
-- run one after the other. Citus locks the whole table of memberships, weakly for a row lock and strongly for an INSERT, so two
-- calls with the weak lock would deadlock.
CREATE OR REPLACE FUNCTION {{invite_user}}(
  p_caller {{caller}}, p_merchant_id text, p_email text, p_token_hash bytea, p_kind text, p_payload jsonb
)
RETURNS TABLE (verdict text, identity_id text, is_member boolean, mailed boolean)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  claimed record;
  member {{users}};
  moment timestamptz := date_trunc('milliseconds', clock_timestamp());
  is_pending boolean;
  drawn record;
  added {{merchant_users}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  mailed := false;
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  IF p_email IS NULL THEN
    SELECT i.body INTO is_member FROM {{idempotency}} i
      WHERE i.merchant_id = p_merchant_id AND i.identity_id = identity_id AND i.method = p_caller.method
        AND i.path = p_caller.path AND i.key = p_caller.key AND i.fingerprint = p_caller.fingerprint AND i.status IS NOT NULL;
    IF FOUND THEN verdict := 'replayed'; END IF;
    RETURN NEXT; RETURN;
  END IF;
  IF current_setting('citus.version', true) IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('{{invite_user}}', 0));
  END IF;
  PERFORM FROM {{merchant_apps}} a WHERE a.merchant_id = p_merchant_id AND a.app_id = identity_id FOR KEY SHARE;
  PERFORM FROM {{merchant_users}} u WHERE u.merchant_id = p_merchant_id AND u.user_id = identity_id FOR KEY SHARE;
  {{include:judge_access.sql}}
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  claimed := {{claim_key}}(p_caller, p_merchant_id, identity_id);
  IF claimed.verdict <> 'claimed' THEN
    verdict := claimed.verdict;
    is_member := (claimed.held).body;
    RETURN NEXT; RETURN;
  END IF;
  member := {{user_of_email}}(p_email);
  drawn := {{new_id}}({{random_tag}}());
  INSERT INTO {{merchant_users}} (merchant_id, user_id, member_id, email, pending, invited_by, created)
    VALUES (p_merchant_id, member.id, drawn.id, p_email, true, identity_id, drawn.created)
    -- A user has one membership of a merchant. A second concurrent call waits here, and finds the row of the first call.
    ON CONFLICT DO NOTHING
    RETURNING * INTO added;
  IF FOUND THEN
    PERFORM {{record_event}}(p_merchant_id, 'user.invited', added.member_id, {{user_member}}(added));
    PERFORM {{add_audit}}(
      p_merchant_id, identity_id, 'user.invited', jsonb_build_object('userId', member.id)
    );
  END IF;
  PERFORM FROM {{merchant_users}} u
    WHERE u.merchant_id = p_merchant_id AND u.user_id = member.id AND u.pending FOR UPDATE;
  is_pending := FOUND;
  is_member := EXISTS (
    SELECT FROM {{merchant_users}} u WHERE u.merchant_id = p_merchant_id AND u.user_id = member.id AND NOT u.pending
  );
  IF is_pending AND NOT EXISTS (
    SELECT FROM {{invitations}} i
    WHERE i.merchant_id = p_merchant_id AND i.user_id = member.id AND i.created > moment - interval '10 minutes'
  ) THEN
    INSERT INTO {{invitations}} (token_hash, merchant_id, user_id, expires, created)
      VALUES (p_token_hash, p_merchant_id, member.id, moment + interval '14 days', moment);
    drawn := {{take_ids}}(p_merchant_id, 1);
    PERFORM {{enqueue}}(p_merchant_id, {{id_at}}(drawn.first, drawn.tag), p_kind, p_payload);
    mailed := true;
  END IF;
  PERFORM {{finish_key}}(p_caller, p_merchant_id, identity_id, 201, member.id, NULL, is_member::text);
  RETURN NEXT;
END
$$;
