import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Refreshes that arrive together, in one transaction: its commit and its call cost as much as half of a refresh. Each is
// judged and written by `refresh_session`. The answer leaves out tokens whose user or session somebody else holds, to wait in
// calls of their own: so nobody waits for a stranger's, and no two batches for each other. As in 0019, plans are by key from
// the first row on; those of two tables joined, or of a list that is looked through, need more than its two settings.
export const refreshMany: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('refresh_sessions')}(
        p_token_hashes bytea[], p_child_hashes bytea[], p_user_agents text[], p_ips text[],
        p_revoke_family boolean, p_reuse_seconds float8, p_timebox_seconds float8, p_inactivity_seconds float8,
        p_low_aal_seconds float8, p_single_per_user boolean, p_audit boolean
      ) RETURNS TABLE (
        item int, verdict text, session_id uuid, aal text, started_at timestamptz, amr json, user_id uuid, profile json
      ) LANGUAGE plpgsql SET lock_timeout = '5s' SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off'
        SET enable_hashjoin = 'off' SET enable_mergejoin = 'off' AS $$
      DECLARE
        held bytea[];
      BEGIN
        SELECT array_agg(locked.token_hash) INTO held FROM (
          SELECT t.token_hash FROM ${names.id('refresh_tokens')} t
          JOIN ${names.id('sessions')} s ON s.id = t.session_id
          JOIN ${names.id('users')} u ON u.id = t.user_id
          WHERE t.token_hash = ANY (p_token_hashes)
          FOR NO KEY UPDATE OF u SKIP LOCKED FOR UPDATE OF s SKIP LOCKED) locked;
        RETURN QUERY
          SELECT i.item::int, r.verdict, r.session_id, r.aal, r.started_at, r.amr, r.user_id, r.profile
          FROM unnest(p_token_hashes, p_child_hashes, p_user_agents, p_ips)
            WITH ORDINALITY AS i (token_hash, child_hash, user_agent, ip, item)
          CROSS JOIN LATERAL ${names.id('refresh_session')}(i.token_hash, i.child_hash, i.user_agent, i.ip,
            p_revoke_family, p_reuse_seconds, p_timebox_seconds, p_inactivity_seconds, p_low_aal_seconds,
            p_single_per_user, p_audit) r
          WHERE i.token_hash = ANY (held)
            OR (SELECT t.id FROM ${names.id('refresh_tokens')} t WHERE t.token_hash = i.token_hash) IS NULL;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('refresh_sessions')}(
      bytea[], bytea[], text[], text[], boolean, float8, float8, float8, float8, boolean, boolean)`.execute(db)
  },
})
