-- Judges the reuse of a spent refresh token, if the settings allow more than refresh_session does. The caller has called
-- refresh_session first, which has checked the session and returned `stolen` without revoking anything.
--
-- p_token_hash: the refresh token of the request. p_child_number, p_child_hash: a child that the service has derived from it; the
-- first child has the number 0. p_ancestors_branch: whether a spent token that is not the parent of the newest live token may be
-- reused within p_reuse_seconds of its last use. That parent may always be reused. p_revoke_family: whether a refused reuse
-- revokes all tokens of the session. p_audit: whether to write the audit log.
--
-- Returns a verdict. `reused`: the derived child is the newest live token, and is returned again. `branched`: the derived child
-- is new, and other live tokens of the session stay valid. `renumber`: nothing was written; the service must derive the child
-- child_number and call again. `stolen` with the user. Otherwise only `token-not-found`, `user-banned` or `client-required`.
-- `reused` and `branched` come with the data of the session's response body.
--
-- The service cannot derive a child that comes from an import, from another secret, or from a step-up of the session. Such a
-- child stays valid next to the branch.
--
-- The counter is unique in a session. A branch starts a billion above the highest counter, so that the chains of all live tokens
-- have room. At a thousand refreshes a second, a chain reaches the next one after eleven days. A bigint has room for nine billion
-- branches.
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
  -- Another call may have spent the token and created its child while this call waited for the lock.
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
    -- Try the number of the newest child first: if the service can derive that child, it is returned again.
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
