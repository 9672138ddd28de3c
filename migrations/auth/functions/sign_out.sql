-- Ends sessions of a user, with their tokens.
--
-- p_session_id: the session of the access token; if null, all sessions end. p_scope: `global`, `local` (this session) or
-- `others`. p_live_session_only: whether a token of an ended session is refused. p_ip: an IP address, or empty. p_audit: whether
-- to write the audit log.
--
-- Returns `done`, or a refusal: `user-not-found`, `user-banned`, `session-not-found`.
--
-- Lock order: the user, then the rows of the user. The lock of the user row comes first, so a parallel refresh either has
-- finished or finds no session. An access token outlives its session by up to an hour. A token of an ended session ends nothing
-- and writes nothing. Otherwise a thief of the token could end every later session of its user. A session that was revoked as
-- stolen counts as ended: its newest refresh token is revoked.
--
-- Every scope except `local` also ends the work of the ended sessions (see end_session_work), because a thief may have started
-- it. With `local`, an address change outlives its session, because the user may open the mail on another device.
--
-- The plan finds rows by key, so one plan serves all values. A plan made for a small table must not scan that table later.
CREATE OR REPLACE FUNCTION {{sign_out}}(
  p_user_id uuid, p_session_id uuid, p_scope text, p_live_session_only boolean, p_ip text, p_audit boolean
)
RETURNS text
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  account {{users}};
BEGIN
  SELECT u.* INTO account FROM {{users}} u
    WHERE u.id = p_user_id AND u.deleted_at IS NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN 'user-not-found'; END IF;
  IF account.banned_until > clock_timestamp() THEN RETURN 'user-banned'; END IF;
  IF p_session_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM {{sessions}} s WHERE s.id = p_session_id AND s.user_id = p_user_id AND (
      SELECT t.revoked FROM {{refresh_tokens}} t WHERE t.session_id = s.id ORDER BY t.counter DESC LIMIT 1) IS NOT TRUE)
  THEN RETURN CASE WHEN p_live_session_only THEN 'session-not-found' ELSE 'done' END; END IF;
  DELETE FROM {{sessions}} s WHERE s.user_id = p_user_id AND (
    p_session_id IS NULL OR p_scope = 'global'
    OR (p_scope = 'local' AND s.id = p_session_id) OR (p_scope = 'others' AND s.id <> p_session_id));
  IF p_session_id IS NULL OR p_scope <> 'local' THEN
    PERFORM {{end_session_work}}(
      p_user_id, CASE WHEN p_session_id IS NULL OR p_scope = 'global' THEN 'all' ELSE 'others' END, p_session_id);
  END IF;
  IF p_audit THEN
    INSERT INTO {{audit_log_entries}} (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
      VALUES (p_user_id, p_user_id, p_session_id, 'logout', 'account', coalesce(p_ip, ''),
        {{audit_payload}}(account, 'logout', 'account', NULL));
  END IF;
  RETURN 'done';
END
$$;
