-- Inserts the session, its first refresh token and its password authentication for each user of `u`. `i` has the data of the
-- request. The audit log entries are written from `s` too.
s AS MATERIALIZED (
  SELECT i.opened_id, i.token_hash, i.user_agent, i.ip, i.moment, i.provider, i.audit, u.id AS user_id,
      coalesce(nullif(u.phone, ''), u.email, '') AS username, nullif(u.raw_user_meta_data ->> 'full_name', '') AS name,
      u.is_sso_user
    FROM u JOIN i ON i.user_id = u.id),
opened AS (
  INSERT INTO {{sessions}} (id, user_id, aal, user_agent, ip, last_ip, created_at, updated_at)
    SELECT s.opened_id, s.user_id, 'aal1', s.user_agent, nullif(s.ip, '')::inet, nullif(s.ip, '')::inet, s.moment, s.moment
      FROM s),
token AS (
  INSERT INTO {{refresh_tokens}} (session_id, user_id, token_hash, counter, created_at, updated_at)
    SELECT s.opened_id, s.user_id, s.token_hash, 0, s.moment, s.moment FROM s),
claim AS (
  INSERT INTO {{mfa_amr_claims}} (id, session_id, authentication_method, created_at, updated_at)
    SELECT {{uuid_v7}}(), s.opened_id, 'password', s.moment, s.moment FROM s)
