-- Exchanges refresh tokens that arrive together in one database transaction. A commit and a call cost as much as half a refresh.
-- refresh_session judges and writes each refresh, and describes the parameters.
--
-- Returns a row for each token, by its place from 1. Leaves out tokens if another transaction has locked their user or session.
-- The caller refreshes these tokens in separate calls, so that no refresh waits for an unrelated refresh and two batches cannot
-- deadlock.
--
-- Lock order: the users and their sessions, in the order of the plan. No order is needed, because the statement skips locked
-- rows.
--
-- The plan must find rows by key from the start. Without the join settings, a plan for two joined tables or for a list could scan
-- a table that was small at the time of planning.
CREATE OR REPLACE FUNCTION {{refresh_sessions}}(
  p_token_hashes bytea[], p_child_hashes bytea[], p_user_agents text[], p_ips text[],
  p_revoke_family boolean, p_reuse_seconds float8, p_timebox_seconds float8, p_inactivity_seconds float8,
  p_low_aal_seconds float8, p_single_per_user boolean, p_audit boolean
)
RETURNS TABLE (
  item int, verdict text, session_id uuid, aal text, started_at timestamptz, amr json, user_id uuid, profile json
)
LANGUAGE plpgsql
SET lock_timeout = '5s'
{{include:hot.sql}}
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
AS $$
DECLARE
  held bytea[];
BEGIN
  SELECT array_agg(locked.token_hash) INTO held FROM (
    SELECT t.token_hash FROM {{refresh_tokens}} t
    JOIN {{sessions}} s ON s.id = t.session_id
    JOIN {{users}} u ON u.id = t.user_id
    WHERE t.token_hash = ANY (p_token_hashes)
    FOR NO KEY UPDATE OF u SKIP LOCKED FOR UPDATE OF s SKIP LOCKED) locked;
  -- Also pass unknown tokens: no row exists for which they could wait.
  RETURN QUERY
    SELECT i.item::int, r.verdict, r.session_id, r.aal, r.started_at, r.amr, r.user_id, r.profile
    FROM unnest(p_token_hashes, p_child_hashes, p_user_agents, p_ips)
      WITH ORDINALITY AS i (token_hash, child_hash, user_agent, ip, item)
    CROSS JOIN LATERAL {{refresh_session}}(i.token_hash, i.child_hash, i.user_agent, i.ip,
      p_revoke_family, p_reuse_seconds, p_timebox_seconds, p_inactivity_seconds, p_low_aal_seconds,
      p_single_per_user, p_audit) r
    WHERE i.token_hash = ANY (held)
      OR (SELECT t.id FROM {{refresh_tokens}} t WHERE t.token_hash = i.token_hash) IS NULL;
END
$$;
