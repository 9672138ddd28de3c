import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

// Log-ins and signups whose passwords were hashed together, in one transaction: between two of them the processor would hash,
// and forget what PostgreSQL works with. Each is judged and written by the function that is for one alone. The answers leave
// out those who might wait for a stranger: users whom somebody else holds, and identifiers that somebody has. They go in calls
// of their own. Plans are by key from the first row on, as in 0082.
export const signInMany: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createFinishPasswordLogins(db, names)
    await createSignUpsAtOnce(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('sign_ups_at_once')}(
      uuid[], uuid[], text[], text[], text[], text[], text[], text[], text[], timestamptz[], bytea[], text[], text[],
      boolean[])`.execute(db)
    await sql`DROP FUNCTION ${names.id('finish_password_logins')}(
      uuid[], text[], text[], text[], bytea[], text[], text[], boolean)`.execute(db)
  },
})

const PLANS = sql`SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' SET enable_hashjoin = 'off'
        SET enable_mergejoin = 'off'`

async function createFinishPasswordLogins(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
      CREATE FUNCTION ${names.id('finish_password_logins')}(
        p_user_ids uuid[], p_verified_hashes text[], p_new_hashes text[], p_providers text[], p_token_hashes bytea[],
        p_user_agents text[], p_ips text[], p_audit boolean
      ) RETURNS TABLE (
        item int, verdict text, session_id uuid, aal text, started_at timestamptz, amr json, profile json
      ) LANGUAGE plpgsql ${PLANS} AS $$
      DECLARE
        held uuid[];
      BEGIN
        SELECT array_agg(locked.id) INTO held FROM (
          SELECT u.id FROM ${names.id('users')} u WHERE u.id = ANY (p_user_ids) FOR NO KEY UPDATE SKIP LOCKED) locked;
        RETURN QUERY
          SELECT i.item::int, r.verdict, r.session_id, r.aal, r.started_at, r.amr, r.profile
          FROM unnest(p_user_ids, p_verified_hashes, p_new_hashes, p_providers, p_token_hashes, p_user_agents, p_ips)
            WITH ORDINALITY AS i (user_id, verified_hash, new_hash, provider, token_hash, user_agent, ip, item)
          CROSS JOIN LATERAL ${names.id('finish_password_login')}(i.user_id, i.verified_hash, i.new_hash, i.provider,
            i.token_hash, i.user_agent, i.ip, p_audit) r
          WHERE i.user_id = ANY (held);
      END $$`.execute(db)
}

/**
 * In the order of the identifiers: of two batches that want the same ones, none waits for one that waits for it. Not long for
 * one that somebody else is taking: who wants it can wait alone.
 */
async function createSignUpsAtOnce(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
      CREATE FUNCTION ${names.id('sign_ups_at_once')}(
        p_user_ids uuid[], p_identity_ids uuid[], p_emails text[], p_phones text[], p_auds text[], p_roles text[],
        p_password_hashes text[], p_data text[], p_identity_data text[], p_moments timestamptz[], p_token_hashes bytea[],
        p_user_agents text[], p_ips text[], p_audits boolean[]
      ) RETURNS TABLE (
        item int, verdict text, session_id uuid, aal text, started_at timestamptz, amr json, profile json, actor_id uuid
      ) LANGUAGE plpgsql SET lock_timeout = '500ms' ${PLANS} AS $$
      BEGIN
        RETURN QUERY
          SELECT i.item::int, r.verdict, r.session_id, r.aal, r.started_at, r.amr, r.profile, r.actor_id
          FROM (
            SELECT * FROM unnest(p_user_ids, p_identity_ids, p_emails, p_phones, p_auds, p_roles, p_password_hashes, p_data,
              p_identity_data, p_moments, p_token_hashes, p_user_agents, p_ips, p_audits)
              WITH ORDINALITY AS n (user_id, identity_id, email, phone, aud, role, password_hash, data, identity_data,
                moment, token_hash, user_agent, ip, audit, item)
            WHERE NOT EXISTS (SELECT FROM ${names.id('users')} u WHERE u.email = n.email)
              AND NOT EXISTS (SELECT FROM ${names.id('users')} u WHERE u.phone = n.phone)
            ORDER BY n.email, n.phone OFFSET 0) i
          CROSS JOIN LATERAL ${names.id('sign_up_at_once')}(i.user_id, i.identity_id, i.email, i.phone, i.aud, i.role,
            i.password_hash, i.data::jsonb, i.identity_data::jsonb, i.moment, i.token_hash, i.user_agent, i.ip,
            i.audit) r;
      END $$`.execute(db)
}
