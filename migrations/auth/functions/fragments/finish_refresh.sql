-- The last part of the functions that judge a refresh token. Needs the verdict, `held_session`, `held_user` and `moment`. If the
-- token is stolen and p_revoke_family is true, revokes the session's tokens, ends the work that the session has started, and
-- deletes the passkeys that it has registered, because the thief may have done both. Otherwise stores the refresh in the session
-- and the user. Sets user_id, session_id, actor, profile and amr, and writes the audit log.
user_id := held_user;
IF verdict = 'stolen' THEN
  SELECT
    {{include:actor.sql}}
    INTO actor FROM {{users}} u WHERE u.id = held_user;
  IF p_revoke_family THEN
    UPDATE {{refresh_tokens}} t SET revoked = true, updated_at = moment
      WHERE t.session_id = held_session AND NOT t.revoked;
    PERFORM {{end_session_work}}(held_user, 'session', held_session);
    WITH ended AS (
      DELETE FROM {{webauthn_credentials}} w WHERE w.user_id = held_user AND w.session_id = held_session RETURNING w.id)
    INSERT INTO {{audit_log_entries}}
        (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
      SELECT held_user, held_user, held_session, 'passkey_deleted', 'user', coalesce(p_ip, ''),
        actor || jsonb_build_object('action', 'passkey_deleted', 'log_type', 'user', 'traits',
          jsonb_build_object('passkey_id', e.id))
      FROM ended e WHERE p_audit;
  END IF;
ELSE
  session_id := held_session;
  WITH touched AS (
    UPDATE {{sessions}} s
      SET refreshed_at = moment AT TIME ZONE 'UTC', updated_at = moment, user_agent = p_user_agent,
        last_ip = nullif(p_ip, '')::inet
      WHERE s.id = held_session)
  UPDATE {{users}} u SET last_sign_in_at = moment, updated_at = moment WHERE u.id = held_user
    RETURNING
      {{include:actor.sql}},
      {{include:profile.sql}},
      (SELECT json_agg(json_build_object('method', a.authentication_method,
          'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC, a.id DESC)
        FROM {{mfa_amr_claims}} a WHERE a.session_id = held_session)
    INTO actor, profile, amr;
END IF;

IF p_audit THEN
  INSERT INTO {{audit_log_entries}}
      (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
    SELECT held_user, held_user, held_session, e.action, 'token', coalesce(p_ip, ''),
      actor || jsonb_build_object('action', e.action, 'log_type', 'token')
    FROM (VALUES ('token_refreshed', verdict <> 'stolen'),
      ('token_revoked', verdict IN ('rotated', 'branched') OR (verdict = 'stolen' AND p_revoke_family))) AS e (action, due)
    WHERE e.due;
END IF;
