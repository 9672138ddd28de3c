-- Completes sign-ins by password whose passwords the service has compared: opens their sessions in one statement.
--
-- The arrays have one element for each sign-in. p_verified_hashes: the stored hash with which the password was compared.
-- p_new_hashes: the hash that replaces it; null to keep the stored hash. p_providers: `email` or `phone`. p_ips: an IP address,
-- or empty. p_audit: whether to write the audit log.
--
-- Returns a row for each sign-in, by its place from 1: the verdict `done` with the session, or only a refusal. Leaves out deleted
-- users, and users whom another transaction has locked. The caller signs the latter in by separate calls, so that no sign-in
-- waits for another user.
--
-- The service compares hashes without a connection or a lock, so the row may have changed meanwhile. Only a user who still has
-- the compared hash gets a session. The order of the checks is: password, ban, confirmation.
--
-- Lock order: the users in the order of the plan, then their new sessions. No order is needed among the users, because the
-- statement skips locked rows.
--
-- If a user occurs twice, `users` is updated once, from either request, and both requests get a session. Each sign-in has a
-- different time, so that two sign-ins of one user have an order. The conditions `= ANY (held)` make PostgreSQL find users by
-- key, even if the table was small at the time of planning.
CREATE OR REPLACE FUNCTION {{sign_ins_by_password}}(
  p_user_ids uuid[], p_verified_hashes text[], p_new_hashes text[], p_providers text[], p_token_hashes bytea[],
  p_user_agents text[], p_ips text[], p_audit boolean
)
RETURNS TABLE (
  item int, verdict text, session_id uuid, aal text, started_at timestamptz, amr json, profile json
)
LANGUAGE plpgsql
{{include:hot.sql}}
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
AS $$
DECLARE
  held uuid[];
  called_at timestamptz;
BEGIN
  SELECT array_agg(locked.id) INTO held FROM (
    SELECT u.id FROM {{users}} u WHERE u.id = ANY (p_user_ids) FOR NO KEY UPDATE SKIP LOCKED) locked;
  called_at := clock_timestamp();
  RETURN QUERY WITH
  judged AS MATERIALIZED (
    SELECT n.*, {{uuid_v7}}() AS opened_id, called_at + (n.item - 1) * interval '1 microsecond' AS moment, p_audit AS audit,
        CASE
          WHEN h.encrypted_password IS DISTINCT FROM n.verified_hash THEN 'password-changed'
          WHEN h.staged_at IS NOT NULL OR h.deleted_at IS NOT NULL THEN 'password-changed'
          WHEN h.banned_until > called_at THEN 'user-banned'
          WHEN n.provider = 'email' AND h.email_confirmed_at IS NULL THEN 'email-not-confirmed'
          WHEN n.provider = 'phone' AND h.phone_confirmed_at IS NULL THEN 'phone-not-confirmed'
        END AS refusal
      FROM unnest(p_user_ids, p_verified_hashes, p_new_hashes, p_providers, p_token_hashes, p_user_agents, p_ips)
        WITH ORDINALITY AS n (user_id, verified_hash, new_hash, provider, token_hash, user_agent, ip, item)
      JOIN {{users}} h ON h.id = n.user_id AND h.id = ANY (held)),
  i AS MATERIALIZED (SELECT j.* FROM judged j WHERE j.refusal IS NULL),
  u AS (
    UPDATE {{users}} AS w
      SET last_sign_in_at = i.moment, updated_at = i.moment,
        encrypted_password = coalesce(i.new_hash, w.encrypted_password)
      FROM i WHERE w.id = i.user_id AND w.id = ANY (held) RETURNING w.*),
  {{include:open_sessions.sql}},
  entry AS (
    INSERT INTO {{audit_log_entries}} (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
      SELECT s.user_id, s.user_id, s.opened_id, 'login', 'account', coalesce(s.ip, ''),
        jsonb_strip_nulls(jsonb_build_object(
          'actor_id', s.user_id, 'actor_username', s.username, 'actor_name', s.name, 'actor_via_sso', s.is_sso_user,
          'action', 'login', 'log_type', 'account', 'traits', jsonb_build_object('provider', s.provider)))
      FROM s WHERE s.audit)
  SELECT i.item::int, 'done', i.opened_id, 'aal1', i.moment,
      json_build_array(json_build_object('method', 'password', 'timestamp', floor(extract(epoch FROM i.moment))::bigint)),
      {{include:profile.sql}}
    FROM u JOIN i ON i.user_id = u.id
  UNION ALL
  SELECT j.item::int, j.refusal, NULL, NULL, NULL, NULL, NULL FROM judged j WHERE j.refusal IS NOT NULL;
END
$$;
