-- Judges a spent refresh token that comes again, where the settings allow more than refresh_session does: its caller has called
-- refresh_session before, which has checked the session and answered `stolen` without revoking anything.
--
-- p_token_hash: the token that was sent. p_child_number, p_child_hash: a child of it that the service has derived; the first has
-- the number 0. p_ancestors_branch: whether a spent token that is not the parent of the newest live token may be reused within
-- p_reuse_seconds of its last use. That parent may be reused at any time. p_revoke_family: whether a refused reuse revokes all
-- tokens of the session. p_audit: whether to write the audit log.
--
-- Answers a verdict. `reused`: the derived child is the newest live token, and is given again. `branched`: the derived child is
-- new, and other live tokens of the session stay alive. `renumber`: the service must derive the child child_number and call
-- again; nothing was written. `stolen` with the user; or alone `token-not-found`, `user-banned`, `client-required`. `reused` and
-- `branched` come with what the session's body is made of.
--
-- A child that the service did not derive from its parent is alive beside the branch: one that an import has brought, one of
-- another secret, or the one that took the place of its parent when the session reached aal2.
--
-- A branch counts on a billion further, so that the chains of both live tokens have room: the counter is unique in a session. A
-- thousand refreshes a second would need eleven days to meet the next chain. The bigint has room for nine billion branches.
--
-- Lock order: the user, the session, as in refresh_session.
CREATE OR REPLACE FUNCTION {{reuse_refresh_token}}(
  p_token_hash bytea, p_child_hash bytea, p_child_number int, p_user_agent text, p_ip text,
  p_ancestors_branch boolean, p_revoke_family boolean, p_reuse_seconds float8, p_audit boolean,
  OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json, OUT user_id uuid,
  OUT profile json, OUT child_number int
)
LANGUAGE plpgsql
SET lock_timeout = '5s'
{{include:hot.sql}}
AS $$
DECLARE
  moment timestamptz;
  held_session uuid;
  held_token bigint;
  held_used_at timestamptz;
  held_user uuid;
  actor jsonb;
  newest record;
  is_parent boolean;
  is_recent boolean;
  children int;
BEGIN
  SELECT t.id, t.updated_at, s.id, coalesce(s.aal, 'aal1'), coalesce(s.created_at, '0001-01-01 00:00:00+00'), u.id,
      CASE WHEN u.banned_until > clock_timestamp() THEN 'user-banned'
        WHEN s.oauth_client_id IS NOT NULL THEN 'client-required' END
    INTO held_token, held_used_at, held_session, aal, started_at, held_user, verdict
    FROM {{refresh_tokens}} t
    JOIN {{sessions}} s ON s.id = t.session_id
    JOIN {{users}} u ON u.id = t.user_id AND u.deleted_at IS NULL
    WHERE t.token_hash = p_token_hash
    FOR NO KEY UPDATE OF u FOR UPDATE OF s;
  IF NOT FOUND THEN verdict := 'token-not-found'; END IF;
  IF verdict IS NOT NULL THEN RETURN; END IF;
  moment := clock_timestamp();
  -- The token may have been spent, and its child made, while this call waited for the lock.
  SELECT t.updated_at INTO held_used_at FROM {{refresh_tokens}} t WHERE t.id = held_token;
  SELECT t.parent_id, t.token_hash INTO newest FROM {{refresh_tokens}} t
    WHERE t.session_id = held_session AND NOT t.revoked ORDER BY t.id DESC LIMIT 1;
  SELECT count(*) INTO children FROM {{refresh_tokens}} t
    WHERE t.session_id = held_session AND t.parent_id = held_token;
  is_parent := coalesce(newest.parent_id = held_token, false);
  is_recent := moment <= held_used_at + make_interval(secs => p_reuse_seconds);

  verdict := CASE
    WHEN NOT is_parent AND NOT (p_ancestors_branch AND is_recent) THEN 'stolen'
    WHEN is_parent AND newest.token_hash = p_child_hash THEN 'reused'
    WHEN p_child_number < children THEN 'renumber'
    ELSE 'branched' END;
  IF verdict = 'renumber' THEN
    -- The newest child may be one that the service can derive, and give again.
    child_number := CASE WHEN is_parent AND p_child_number < children - 1 THEN children - 1 ELSE children END;
    RETURN;
  ELSIF verdict = 'branched' THEN
    INSERT INTO {{refresh_tokens}} (session_id, user_id, token_hash, counter, parent_id, created_at, updated_at)
      SELECT held_session, held_user, p_child_hash, max(t.counter) + 1000000000, held_token, moment, moment
      FROM {{refresh_tokens}} t WHERE t.session_id = held_session;
    UPDATE {{refresh_tokens}} t SET updated_at = moment WHERE t.id = held_token;
  END IF;

  {{include:finish_refresh.sql}}
END
$$;
