-- Exchanges a refresh token for its child in one call.
--
-- p_token_hash: the refresh token of the request. p_child_hash: the child that the service derives from it. p_ip: an IP address,
-- or empty. p_revoke_family: whether the reuse of an old token revokes all tokens of its session. p_reuse_seconds: for how long
-- the direct parent may be reused. A session ends at the age p_timebox_seconds, after p_inactivity_seconds without a refresh, and
-- at the age p_low_aal_seconds if it is at aal1 and its user has a second factor; null means no limit. p_single_per_user: whether
-- a session ends when another session of its user is fresher. p_audit: whether to write the audit log.
--
-- Returns a verdict: `rotated` or `reused` with the data of the session's response body; `stolen` with the user; otherwise only
-- `token-not-found`, `user-banned`, `session-expired`, `session-inactive`, `session-low-aal`, `client-required` or
-- `session-superseded`. A refusal is a verdict, not an exception, so that its writes are committed: the revoked tokens of a
-- stolen session. The only exception (55P03) is for a lock that is not granted within 5 s, before any write.
--
-- `client-required`: supabase/auth has given the session to an OAuth client, and nothing changes. Tokens of supabase/auth name
-- the client and its scope, but tokens of this service do not. So a client that refreshed the session here would get the rights
-- of the user's own application.
--
-- Lock order: the user, the session. Every function locks a user before the user's sessions, so two functions cannot deadlock.
-- The token needs no lock.
--
-- This is one function on plain variables, because passing whole rows to smaller functions took almost twice the time. Without
-- the generic plan, PostgreSQL would plan some statements again at each call. It considers a plan for the known values (a null
-- limit, a switch that is off) cheaper, but planning took a third of the time of a refresh.
CREATE OR REPLACE FUNCTION {{refresh_session}}(
  p_token_hash bytea, p_child_hash bytea, p_user_agent text, p_ip text,
  p_revoke_family boolean, p_reuse_seconds float8, p_timebox_seconds float8, p_inactivity_seconds float8,
  p_low_aal_seconds float8, p_single_per_user boolean, p_audit boolean,
  OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json, OUT user_id uuid,
  OUT profile json
)
LANGUAGE plpgsql
SET lock_timeout = '5s'
{{include:hot.sql}}
AS $$
DECLARE
  moment timestamptz;
  held_session uuid;
  held_token bigint;
  held_counter bigint;
  held_refreshed_at timestamptz;
  held_not_after timestamptz;
  held_client uuid;
  held_user uuid;
  actor jsonb;
  held_banned_until timestamptz;
BEGIN
  -- The FOR clauses lock the user row before the session row, as every function does. The token needs no lock: every writer of
  -- tokens locks the session, and the token columns read here never change. Sessions inserted by external SQL may have no level
  -- and no times. External SQL may also have set only deleted_at of the user, so that the session still exists.
  SELECT t.id, t.counter, s.id, coalesce(s.aal, 'aal1'), coalesce(s.created_at, '0001-01-01 00:00:00+00'),
      s.refreshed_at AT TIME ZONE 'UTC', s.not_after, s.oauth_client_id, u.id, u.banned_until
    INTO held_token, held_counter, held_session, aal, started_at, held_refreshed_at, held_not_after, held_client, held_user,
      held_banned_until
    FROM {{refresh_tokens}} t
    JOIN {{sessions}} s ON s.id = t.session_id
    JOIN {{users}} u ON u.id = t.user_id AND u.deleted_at IS NULL
    WHERE t.token_hash = p_token_hash
    FOR NO KEY UPDATE OF u FOR UPDATE OF s;
  IF NOT FOUND THEN verdict := 'token-not-found'; RETURN; END IF;
  moment := clock_timestamp();

  -- Decide whether the session may be refreshed. Each subquery has its own IF block, because PL/pgSQL runs a slower execution for
  -- a condition with a subquery, even if the subquery is not reached.
  verdict := CASE WHEN held_banned_until > moment THEN 'user-banned' ELSE
    {{include:session_end.sql not_after => held_not_after, started_at => started_at, refreshed_at => held_refreshed_at}}
  END;
  IF verdict IS NULL AND aal = 'aal1' AND started_at + make_interval(secs => p_low_aal_seconds) < moment THEN
    IF EXISTS (SELECT FROM {{mfa_factors}} f WHERE f.user_id = held_user AND f.status = 'verified')
    THEN verdict := 'session-low-aal'; END IF;
  END IF;
  IF verdict IS NULL AND held_client IS NOT NULL THEN verdict := 'client-required'; END IF;
  IF verdict IS NULL AND p_single_per_user THEN
    -- Ignore a fresher session that could not be refreshed: one that has ended, was revoked as stolen, has been at aal1 for too
    -- long, or belongs to an OAuth client.
    IF EXISTS (SELECT FROM {{sessions}} o WHERE o.user_id = held_user AND o.id <> held_session
      AND coalesce(o.refreshed_at AT TIME ZONE 'UTC', o.created_at) > coalesce(held_refreshed_at, started_at)
      AND {{include:session_end.sql not_after => o.not_after, started_at => o.created_at,
        refreshed_at => o.refreshed_at AT TIME ZONE 'UTC'}} IS NULL
      AND o.oauth_client_id IS NULL
      AND (SELECT n.revoked FROM {{refresh_tokens}} n WHERE n.session_id = o.id ORDER BY n.counter DESC LIMIT 1) IS NOT TRUE
      AND (coalesce(o.aal, 'aal1') = 'aal1'
        AND coalesce(o.created_at, '0001-01-01 00:00:00+00') + make_interval(secs => p_low_aal_seconds) < moment
        AND EXISTS (SELECT FROM {{mfa_factors}} f WHERE f.user_id = held_user AND f.status = 'verified')) IS NOT TRUE)
    THEN verdict := 'session-superseded'; END IF;
  END IF;
  IF verdict IS NOT NULL THEN RETURN; END IF;

  -- `rotated`: the token was live and gets a child. `reused`: the token is the direct parent of the newest token, and its
  -- interval has not passed, so it gets the same child again. The child's hash is replaced if the service's secret has changed or
  -- another service derived the child. `stolen`: all other cases, also if the child that the service derives exists and is not
  -- the newest.
  WITH parent AS (
    UPDATE {{refresh_tokens}} t SET revoked = true, updated_at = moment WHERE t.id = held_token AND NOT t.revoked RETURNING 1)
  INSERT INTO {{refresh_tokens}} (session_id, user_id, token_hash, counter, parent_id, created_at, updated_at)
    SELECT held_session, held_user, p_child_hash, held_counter + 1, held_token, moment, moment FROM parent;
  IF FOUND THEN
    verdict := 'rotated';
  ELSIF EXISTS (
    SELECT FROM {{refresh_tokens}} t
    JOIN {{refresh_tokens}} child ON child.parent_id = t.id AND child.session_id = t.session_id
      AND child.counter = (SELECT max(n.counter) FROM {{refresh_tokens}} n WHERE n.session_id = held_session)
    WHERE t.id = held_token AND NOT child.revoked
      AND moment <= t.updated_at + make_interval(secs => p_reuse_seconds)
      AND NOT EXISTS (SELECT FROM {{refresh_tokens}} o WHERE o.token_hash = p_child_hash AND o.id <> child.id))
  THEN
    verdict := 'reused';
    -- Find the newest token by its counter. Its counter may exceed the parent's by more than 1, see reuse_refresh_token.
    UPDATE {{refresh_tokens}} t SET token_hash = p_child_hash
      WHERE t.session_id = held_session AND t.token_hash <> p_child_hash
        AND t.counter = (SELECT max(n.counter) FROM {{refresh_tokens}} n WHERE n.session_id = held_session);
  ELSE
    verdict := 'stolen';
  END IF;

  {{include:finish_refresh.sql}}
END
$$;
