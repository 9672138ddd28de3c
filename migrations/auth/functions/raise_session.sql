-- Steps a session up to aal2 after its user has used a second factor. A new refresh token replaces all earlier tokens, and all
-- other sessions of the user below aal2 end.
--
-- p_factor_id: the factor. p_method: the authentication method to add to the `amr` claim. p_token_hash: the hash of the new
-- refresh token. p_ip: an IP address, or empty. p_ends_parent: whether the old refresh token becomes useless. The caller has
-- locked the user row.
--
-- Returns the verdict `done` with the data of the session's response body. Otherwise returns only `session-not-found`, also for a
-- session of an OAuth client of supabase/auth: its new tokens would not name the client (see refresh_session).
--
-- With p_ends_parent, the old refresh token is revoked as of the epoch. The interval in which a parent may be reused is then long
-- over, so the old token cannot fetch the new token. A session whose newest token is revoked was stolen, and stays ended.
--
-- Lock order: the user, whom the caller has locked, the session, its tokens and claims, the other sessions. Every function locks
-- a user before the user's sessions, so two functions cannot deadlock.
CREATE OR REPLACE FUNCTION {{raise_session}}(
  p_user_id uuid, p_session_id uuid, p_factor_id uuid, p_method text, p_token_hash bytea, p_user_agent text, p_ip text,
  p_ends_parent boolean,
  OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json, OUT profile json
)
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  moment timestamptz := clock_timestamp();
  newest {{refresh_tokens}};
BEGIN
  SELECT coalesce(s.created_at, '0001-01-01 00:00:00+00') INTO started_at FROM {{sessions}} s
    WHERE s.id = p_session_id AND s.user_id = p_user_id AND s.oauth_client_id IS NULL FOR UPDATE;
  SELECT t.* INTO newest FROM {{refresh_tokens}} t
    WHERE t.session_id = p_session_id ORDER BY t.counter DESC LIMIT 1;
  IF started_at IS NULL OR newest.revoked IS DISTINCT FROM false THEN
    verdict := 'session-not-found';
    RETURN;
  END IF;
  UPDATE {{refresh_tokens}} t SET revoked = true, updated_at = CASE WHEN p_ends_parent THEN 'epoch' ELSE moment END
    WHERE t.id = newest.id;
  INSERT INTO {{refresh_tokens}} (session_id, user_id, token_hash, counter, parent_id, created_at, updated_at)
    VALUES (p_session_id, p_user_id, p_token_hash, newest.counter + 1, newest.id, moment, moment);
  INSERT INTO {{mfa_amr_claims}} AS a (id, session_id, authentication_method, created_at, updated_at)
    VALUES ({{uuid_v7}}(), p_session_id, p_method, moment, moment)
    ON CONFLICT ON CONSTRAINT {{local:mfa_amr_claims_session_id_authentication_method_pkey}}
      DO UPDATE SET updated_at = moment;
  UPDATE {{sessions}} s
    SET aal = 'aal2', factor_id = p_factor_id, refreshed_at = moment AT TIME ZONE 'UTC', updated_at = moment,
      user_agent = p_user_agent, last_ip = nullif(p_ip, '')::inet
    WHERE s.id = p_session_id;
  DELETE FROM {{sessions}} s
    WHERE s.user_id = p_user_id AND s.id <> p_session_id AND coalesce(s.aal, 'aal1') = 'aal1';
  session_id := p_session_id;
  aal := 'aal2';
  SELECT
      {{include:profile.sql}},
      (SELECT json_agg(json_build_object('method', a.authentication_method,
          'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC, a.id DESC)
        FROM {{mfa_amr_claims}} a WHERE a.session_id = p_session_id)
    INTO profile, amr FROM {{users}} u WHERE u.id = p_user_id;
  verdict := 'done';
END
$$;
