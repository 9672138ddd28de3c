-- Opens a session for an authenticated user: inserts the session, its first refresh token and its authentication method, and
-- updates the user's last sign-in.
--
-- p_token_hash: the hash of the refresh token. p_method: the authentication method in the `amr` claim. p_ip: an IP address, or
-- empty.
--
-- Returns the verdict `done` with all data of the session's response body, so the caller needs no further statement. Otherwise
-- returns only `user-not-found`.
--
-- One statement writes all rows. Password hashing evicts PostgreSQL's data from the CPU caches, so each further statement is
-- slow. The update of the user comes first, because every function locks the user row before the session row. The plan finds rows
-- by key, so one plan serves all values. A plan made for a small table must not scan that table later.
CREATE OR REPLACE FUNCTION {{create_session}}(
  p_user_id uuid, p_token_hash bytea, p_method text, p_user_agent text, p_ip text,
  OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json, OUT profile json
)
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  moment timestamptz := clock_timestamp();
  opened_id uuid := {{uuid_v7}}();
BEGIN
  WITH u AS (
    UPDATE {{users}} AS w SET last_sign_in_at = moment, updated_at = moment
      WHERE w.id = p_user_id RETURNING w.*),
  opened AS (
    INSERT INTO {{sessions}} (id, user_id, aal, user_agent, ip, last_ip, created_at, updated_at)
      SELECT opened_id, u.id, 'aal1', p_user_agent, nullif(p_ip, '')::inet, nullif(p_ip, '')::inet, moment, moment
      FROM u),
  token AS (
    INSERT INTO {{refresh_tokens}} (session_id, user_id, token_hash, counter, created_at, updated_at)
      SELECT opened_id, u.id, p_token_hash, 0, moment, moment FROM u),
  claim AS (
    INSERT INTO {{mfa_amr_claims}} (id, session_id, authentication_method, created_at, updated_at)
      SELECT {{uuid_v7}}(), opened_id, p_method, moment, moment FROM u)
  SELECT
    {{include:profile.sql}}
    INTO profile FROM u;
  IF NOT FOUND THEN verdict := 'user-not-found'; RETURN; END IF;
  verdict := 'done';
  session_id := opened_id;
  aal := 'aal1';
  started_at := moment;
  amr := json_build_array(
    json_build_object('method', p_method, 'timestamp', floor(extract(epoch FROM moment))::bigint));
END
$$;
