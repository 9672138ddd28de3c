import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { quickenSignIns } from './0081-quicken-sign-ins.ts'
import { signInMany } from './0083-sign-in-many.ts'
import { profileOf, profileOfUsers } from './profile.ts'

// One statement for all log-ins, and one for all signups, that come together: in 0083 it was one for each of them. What they
// write and answer is as it was, with two exceptions: of two who want the same identifier the second is left out, to go alone,
// and of two log-ins of one user that both bring a better hash, both are let in. The rules of a log-in stand here alone: one by
// itself waits for its user and is judged as a batch. Nothing calls `sign_up_at_once` any more but processes of before.
export const signInInOneStatement: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await replaceFinishPasswordLogins(db, names)
    await replaceFinishPasswordLogin(db, names)
    await replaceSignUpsAtOnce(db, names)
  },
  async down(db: Kysely<unknown>) {
    // 0081 has made `finish_password_login` as it was, among others; 0083 rests on it.
    const [alone, many] = [quickenSignIns(names), signInMany(names)]
    await many.down?.(db)
    await alone.down?.(db)
    await alone.up(db)
    await many.up(db)
  },
})

const PLANS = sql`SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' SET enable_hashjoin = 'off'
        SET enable_mergejoin = 'off'`

/** Who is let in: users `u` as they are now, each with what came with the request, a row of `i`. */
const LET_IN = sql`u JOIN i ON i.user_id = u.id`

/** When each was let in: of two log-ins of one user, one is the later. */
const MOMENT = sql`called_at + (n.item - 1) * interval '1 microsecond'`

/** The rows of a session for all who are let in: parts of a statement. */
const writeSessions = (names: Names) => sql`
        s AS MATERIALIZED (
          SELECT i.opened_id, i.token_hash, i.user_agent, i.ip, i.moment, i.provider, i.audit, u.id AS user_id,
              coalesce(u.phone, u.email, '') AS username, nullif(u.raw_user_meta_data ->> 'full_name', '') AS name,
              u.is_sso_user
            FROM ${LET_IN}),
        opened AS (
          INSERT INTO ${names.id('sessions')} (id, user_id, aal, user_agent, ip, last_ip, created_at, updated_at)
            SELECT s.opened_id, s.user_id, 'aal1', s.user_agent, nullif(s.ip, '')::inet, nullif(s.ip, '')::inet, s.moment,
                s.moment
              FROM s),
        token AS (
          INSERT INTO ${names.id('refresh_tokens')} (session_id, user_id, token_hash, counter, created_at, updated_at)
            SELECT s.opened_id, s.user_id, s.token_hash, 0, s.moment, s.moment FROM s),
        claim AS (
          INSERT INTO ${names.id('mfa_amr_claims')} (session_id, authentication_method, created_at, updated_at)
            SELECT s.opened_id, 'password', s.moment, s.moment FROM s)`

interface AuditEntry {
  readonly action: string
  readonly logType: string
  readonly sessionId: RawBuilder<unknown>
}

/** Entries of the audit log; the members of their payload are those of `audit_payload`. */
const writeAudit = (names: Names, { action, logType, sessionId }: AuditEntry) => sql`
        entry AS (
          INSERT INTO ${names.id('audit_log_entries')}
              (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
            SELECT s.user_id, s.user_id, ${sessionId}, ${sql.lit(action)}, ${sql.lit(logType)}, coalesce(s.ip, ''),
              jsonb_strip_nulls(jsonb_build_object(
                'actor_id', s.user_id, 'actor_username', s.username, 'actor_name', s.name, 'actor_via_sso', s.is_sso_user,
                'action', ${sql.lit(action)}, 'log_type', ${sql.lit(logType)},
                'traits', jsonb_build_object('provider', s.provider)))
            FROM s WHERE s.audit)`

/** What those who are let in are answered, but the profile. */
const answer = (verdict: string) => sql`
          i.item::int, ${sql.lit(verdict)}, i.opened_id, 'aal1', i.moment, json_build_array(json_build_object(
            'method', 'password', 'timestamp', floor(extract(epoch FROM i.moment))::bigint))`

/**
 * A user who is there twice is written once, by either of two requests whose passwords were right. The lists in conditions on
 * `users` are for plans by key, however few rows there were when they were made.
 */
async function replaceFinishPasswordLogins(db: Kysely<unknown>, names: Names): Promise<void> {
  const entry = { action: 'login', logType: 'account', sessionId: sql`s.opened_id` }
  await sql`
      CREATE OR REPLACE FUNCTION ${names.id('finish_password_logins')}(
        p_user_ids uuid[], p_verified_hashes text[], p_new_hashes text[], p_providers text[], p_token_hashes bytea[],
        p_user_agents text[], p_ips text[], p_audit boolean
      ) RETURNS TABLE (
        item int, verdict text, session_id uuid, aal text, started_at timestamptz, amr json, profile json
      ) LANGUAGE plpgsql ${PLANS} AS $$
      DECLARE
        held uuid[];
        called_at timestamptz;
      BEGIN
        SELECT array_agg(locked.id) INTO held FROM (
          SELECT u.id FROM ${names.id('users')} u WHERE u.id = ANY (p_user_ids) FOR NO KEY UPDATE SKIP LOCKED) locked;
        called_at := clock_timestamp();
        RETURN QUERY WITH
        judged AS MATERIALIZED (
          SELECT n.*, ${names.id('uuid_v7')}() AS opened_id, ${MOMENT} AS moment, p_audit AS audit, CASE
              WHEN h.encrypted_password IS DISTINCT FROM n.verified_hash THEN 'password-changed'
              WHEN h.staged_at IS NOT NULL OR h.deleted_at IS NOT NULL THEN 'password-changed'
              WHEN h.banned_until > called_at THEN 'user-banned'
              WHEN n.provider = 'email' AND h.email_confirmed_at IS NULL THEN 'email-not-confirmed'
              WHEN n.provider = 'phone' AND h.phone_confirmed_at IS NULL THEN 'phone-not-confirmed'
            END AS refusal
            FROM unnest(p_user_ids, p_verified_hashes, p_new_hashes, p_providers, p_token_hashes, p_user_agents, p_ips)
              WITH ORDINALITY AS n (user_id, verified_hash, new_hash, provider, token_hash, user_agent, ip, item)
            JOIN ${names.id('users')} h ON h.id = n.user_id AND h.id = ANY (held)),
        i AS MATERIALIZED (SELECT j.* FROM judged j WHERE j.refusal IS NULL),
        u AS (
          UPDATE ${names.id('users')} AS w
            SET last_sign_in_at = i.moment, updated_at = i.moment,
              encrypted_password = coalesce(i.new_hash, w.encrypted_password)
            FROM i WHERE w.id = i.user_id AND w.id = ANY (held) RETURNING w.*),
        ${writeSessions(names)},
        ${writeAudit(names, entry)}
        SELECT ${answer('done')}, ${profileOf(names)} FROM ${LET_IN}
        UNION ALL
        SELECT j.item::int, j.refusal, NULL, NULL, NULL, NULL, NULL FROM judged j WHERE j.refusal IS NOT NULL;
      END $$`.execute(db)
}

async function replaceFinishPasswordLogin(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
      CREATE OR REPLACE FUNCTION ${names.id('finish_password_login')}(
        p_user_id uuid, p_verified_hash text, p_new_hash text, p_provider text, p_token_hash bytea,
        p_user_agent text, p_ip text, p_audit boolean,
        OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json,
        OUT profile json
      ) LANGUAGE plpgsql ${PLANS} AS $$
      BEGIN
        PERFORM FROM ${names.id('users')} u WHERE u.id = p_user_id FOR NO KEY UPDATE;
        SELECT r.verdict, r.session_id, r.aal, r.started_at, r.amr, r.profile
          INTO verdict, session_id, aal, started_at, amr, profile
          FROM ${names.id('finish_password_logins')}(ARRAY[p_user_id], ARRAY[p_verified_hash], ARRAY[p_new_hash],
            ARRAY[p_provider], ARRAY[p_token_hash], ARRAY[p_user_agent], ARRAY[p_ip], p_audit) r;
        -- Of a user who is gone.
        IF NOT FOUND THEN verdict := 'password-changed'; END IF;
      END $$`.execute(db)
}

/**
 * In the order of the identifiers: of two batches that want the same ones, none waits for one that waits for it. Not long for
 * one that somebody else is taking: who wants it can wait alone.
 */
async function replaceSignUpsAtOnce(db: Kysely<unknown>, names: Names): Promise<void> {
  const entry = { action: 'user_signedup', logType: 'team', sessionId: sql`NULL::uuid` }
  await sql`
      CREATE OR REPLACE FUNCTION ${names.id('sign_ups_at_once')}(
        p_user_ids uuid[], p_identity_ids uuid[], p_emails text[], p_phones text[], p_auds text[], p_roles text[],
        p_password_hashes text[], p_data text[], p_identity_data text[], p_moments timestamptz[], p_token_hashes bytea[],
        p_user_agents text[], p_ips text[], p_audits boolean[]
      ) RETURNS TABLE (
        item int, verdict text, session_id uuid, aal text, started_at timestamptz, amr json, profile json, actor_id uuid
      ) LANGUAGE plpgsql SET lock_timeout = '500ms' ${PLANS} AS $$
      DECLARE
        called_at timestamptz := clock_timestamp();
      BEGIN
        RETURN QUERY WITH
        i AS MATERIALIZED (
          SELECT n.*, ${names.id('uuid_v7')}() AS opened_id, ${MOMENT} AS moment,
              CASE WHEN n.email IS NULL THEN 'phone' ELSE 'email' END AS provider
            FROM unnest(p_user_ids, p_identity_ids, p_emails, p_phones, p_auds, p_roles, p_password_hashes, p_data,
              p_identity_data, p_moments, p_token_hashes, p_user_agents, p_ips, p_audits)
              WITH ORDINALITY AS n (user_id, identity_id, email, phone, aud, role, password_hash, data, identity_data,
                created_at, token_hash, user_agent, ip, audit, item)
            WHERE NOT EXISTS (SELECT FROM ${names.id('users')} o
                WHERE o.email = n.email AND o.email = ANY (p_emails))
              AND NOT EXISTS (SELECT FROM ${names.id('users')} o
                WHERE o.phone = n.phone AND o.phone = ANY (p_phones))),
        u AS (
          INSERT INTO ${names.id('users')} AS w (id, aud, role, email, phone, encrypted_password, email_confirmed_at,
              phone_confirmed_at, raw_app_meta_data, raw_user_meta_data, last_sign_in_at, created_at, updated_at)
            SELECT i.user_id, i.aud, i.role, i.email, i.phone, i.password_hash,
                CASE WHEN i.provider = 'email' THEN i.created_at END, CASE WHEN i.provider = 'phone' THEN i.created_at END,
                jsonb_build_object('provider', i.provider, 'providers', jsonb_build_array(i.provider)), i.data::jsonb,
                i.moment, i.created_at, i.moment
              FROM i ORDER BY i.email, i.phone
            ON CONFLICT DO NOTHING RETURNING w.*),
        identity AS (
          INSERT INTO ${names.id('identities')} AS d
              (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
            SELECT i.identity_id, u.id, i.provider, u.id, i.identity_data::jsonb, i.created_at, i.created_at
            FROM ${LET_IN} RETURNING d.*),
        ${writeSessions(names)},
        ${writeAudit(names, entry)}
        SELECT ${answer('signed-in')}, ${profileOfUsers()}, u.id FROM ${LET_IN};
      END $$`.execute(db)
}
