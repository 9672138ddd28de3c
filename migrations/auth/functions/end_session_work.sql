-- Ends unfinished work that sessions of a user have started: changes of email and phone, nonces, challenges of second factors and
-- of new passkeys, flows that link an identity, and auth codes (reference: Work of sessions).
--
-- p_scope: `all`: all unfinished work of the user, even if no session started it. `others`: the work of all sessions except
-- p_session_id, and every auth code, because its exchange opens a session. `session`: the work of p_session_id.
--
-- A change of address outlives the session that requested it; the user row names that session. Nonces, challenges and linking
-- flows are deleted with the row of their session. The caller of `others` has already deleted the session rows. A session with a
-- stolen refresh token keeps its row. If a link confirmed an address change, the auth code belongs to the session that requested
-- the change. The user row still names that session then.
--
-- Lock order: the user, whom the caller has locked, then the rows of the user. The plan finds rows by key, so it serves all
-- values.
CREATE OR REPLACE FUNCTION {{end_session_work}}(p_user_id uuid, p_scope text, p_session_id uuid)
RETURNS void
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  ends_email boolean;
  ends_phone boolean;
  ends_all CONSTANT boolean := p_scope = 'all';
  ended_session CONSTANT uuid := CASE WHEN p_scope = 'session' THEN p_session_id END;
  kept_session CONSTANT uuid := CASE WHEN p_scope = 'others' THEN p_session_id END;
BEGIN
  SELECT
      ends_all OR coalesce(u.email_change_session_id = ended_session, u.email_change_session_id <> kept_session, false),
      ends_all OR coalesce(u.phone_change_session_id = ended_session, u.phone_change_session_id <> kept_session, false)
    INTO ends_email, ends_phone FROM {{users}} u WHERE u.id = p_user_id;
  UPDATE {{users}} u SET
      email_change = CASE WHEN ends_email THEN '' ELSE u.email_change END,
      email_change_confirm_status = CASE WHEN ends_email THEN 0 ELSE u.email_change_confirm_status END,
      phone_change = CASE WHEN ends_phone THEN '' ELSE u.phone_change END
    WHERE u.id = p_user_id AND ((ends_email AND u.email_change <> '') OR (ends_phone AND u.phone_change <> ''));
  DELETE FROM {{one_time_tokens}} t WHERE t.user_id = p_user_id AND CASE t.kind
    WHEN 'email_change_new' THEN ends_email
    WHEN 'email_change_current' THEN ends_email
    WHEN 'phone_change' THEN ends_phone
    WHEN 'reauthentication' THEN ends_all OR t.session_id = ended_session
    ELSE false END;

  DELETE FROM {{flow_state}} f WHERE f.user_id = p_user_id AND f.auth_code_hash IS NOT NULL
    AND (ended_session IS NULL OR (ends_email AND f.authentication_method = 'email_change'));
  DELETE FROM {{flow_state}} f WHERE f.linking_target_id = p_user_id
    AND (ends_all OR f.linking_session_id = ended_session);

  DELETE FROM {{mfa_challenges}} c USING {{mfa_factors}} f
    WHERE f.user_id = p_user_id AND c.factor_id = f.id AND c.verified_at IS NULL
      AND (ends_all OR c.session_id = ended_session);
  DELETE FROM {{webauthn_challenges}} c WHERE c.user_id = p_user_id
    AND (ends_all OR c.session_id = ended_session);
END
$$;
