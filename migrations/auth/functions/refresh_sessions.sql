-- Exchanges refresh tokens that arrive together, in one transaction: its commit and its call cost as much as half of a refresh.
-- refresh_session judges and writes each, and explains the parameters.
--
-- Answers a row for each token, by its place from 1. It leaves out tokens whose user or session another transaction holds. They
-- go on in calls of their own, so that nobody waits for a stranger's refresh, and two batches never wait for each other.
--
-- Lock order: the users and their sessions, each as the plan finds it. No order is needed, because the statement skips rows that
-- somebody holds.
--
-- Plans find rows by key from the first row on. Without the settings of joins, a plan for two joined tables, or for a list that
-- is looked through, would read a table that was small when the plan was made.
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
  -- A token that does not exist has nobody to wait for.
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
