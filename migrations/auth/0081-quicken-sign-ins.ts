import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { createCreateSession } from './0015-create-create-session.ts'
import { createFinishLogin } from './0016-create-finish-login.ts'
import { profileOf, profileOfNew } from './profile.ts'

// Between two log-ins the processor hashes, and has forgotten by then what PostgreSQL works with: each statement of a function
// fetches its plan and its tables anew. Here a sign-in is one statement for all its rows, and a signup that needs no
// confirmation another, which writes its user once instead of twice. What they write and answer is as it was.
export const quickenSignIns: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await replaceCreateSession(db, names)
    await replaceFinishLogin(db, names)
    await createSignUpAtOnce(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('sign_up_at_once')}(
      uuid, uuid, text, text, text, text, text, jsonb, jsonb, timestamptz, bytea, text, text, boolean)`.execute(db)
    for (const former of [createCreateSession(names), createFinishLogin(names)]) {
      await former.down?.(db)
      await former.up(db)
    }
    for (const name of ['create_session', 'finish_password_login']) {
      await sql`ALTER FUNCTION ${names.id(name)} SET plan_cache_mode = 'force_generic_plan'`.execute(db)
      await sql`ALTER FUNCTION ${names.id(name)} SET enable_seqscan = 'off'`.execute(db)
    }
  },
})

/** What all three begin with. */
const declareSession = (names: Names) => sql`
        moment timestamptz := clock_timestamp();
        opened_id uuid := ${names.id('uuid_v7')}();`

/** The rows of a session for the user of row `u`: parts of a statement that begins with it. */
const writeSession = (names: Names, method: RawBuilder<unknown>) => sql`
        opened AS (
          INSERT INTO ${names.id('sessions')} (id, user_id, aal, user_agent, ip, last_ip, created_at, updated_at)
            SELECT opened_id, u.id, 'aal1', p_user_agent, nullif(p_ip, '')::inet, nullif(p_ip, '')::inet, moment, moment
            FROM u),
        token AS (
          INSERT INTO ${names.id('refresh_tokens')} (session_id, user_id, token_hash, counter, created_at, updated_at)
            SELECT opened_id, u.id, p_token_hash, 0, moment, moment FROM u),
        claim AS (
          INSERT INTO ${names.id('mfa_amr_claims')} (session_id, authentication_method, created_at, updated_at)
            SELECT opened_id, ${method}, moment, moment FROM u)`

interface AuditEntry {
  readonly action: string
  readonly logType: string
  readonly sessionId: RawBuilder<unknown>
  readonly provider: RawBuilder<unknown>
}

/** An entry of the audit log about the user of row `u`; the members of its payload are those of `audit_payload`. */
const writeAudit = (names: Names, { action, logType, sessionId, provider }: AuditEntry) => sql`
        entry AS (
          INSERT INTO ${names.id('audit_log_entries')}
              (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
            SELECT u.id, u.id, ${sessionId}, ${sql.lit(action)}, ${sql.lit(logType)}, coalesce(p_ip, ''),
              jsonb_strip_nulls(jsonb_build_object(
                'actor_id', u.id, 'actor_username', coalesce(u.phone, u.email, ''),
                'actor_name', nullif(u.raw_user_meta_data ->> 'full_name', ''), 'actor_via_sso', u.is_sso_user,
                'action', ${sql.lit(action)}, 'log_type', ${sql.lit(logType)},
                'traits', jsonb_build_object('provider', ${provider})))
            FROM u WHERE p_audit)`

/** What they answer beside the profile. */
const answerSession = (method: RawBuilder<unknown>) => sql`
        session_id := opened_id;
        aal := 'aal1';
        started_at := moment;
        amr := json_build_array(
          json_build_object('method', ${method}, 'timestamp', floor(extract(epoch FROM moment))::bigint));`

const PLANS = sql`SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off'`
const PASSWORD = sql`'password'`

async function replaceCreateSession(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
      CREATE OR REPLACE FUNCTION ${names.id('create_session')}(
        p_user_id uuid, p_token_hash bytea, p_method text, p_user_agent text, p_ip text,
        OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json,
        OUT profile json
      ) LANGUAGE plpgsql ${PLANS} AS $$
      DECLARE ${declareSession(names)}
      BEGIN
        WITH u AS (
          UPDATE ${names.id('users')} AS w SET last_sign_in_at = moment, updated_at = moment
            WHERE w.id = p_user_id RETURNING w.*),
        ${writeSession(names, sql`p_method`)}
        SELECT ${profileOf(names)} INTO profile FROM u;
        IF NOT FOUND THEN verdict := 'user-not-found'; RETURN; END IF;
        verdict := 'done';
        ${answerSession(sql`p_method`)}
      END $$`.execute(db)
}

async function replaceFinishLogin(db: Kysely<unknown>, names: Names): Promise<void> {
  const entry = { action: 'login', logType: 'account', sessionId: sql`opened_id`, provider: sql`p_provider` }
  await sql`
      CREATE OR REPLACE FUNCTION ${names.id('finish_password_login')}(
        p_user_id uuid, p_verified_hash text, p_new_hash text, p_provider text, p_token_hash bytea,
        p_user_agent text, p_ip text, p_audit boolean,
        OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json,
        OUT profile json
      ) LANGUAGE plpgsql ${PLANS} AS $$
      DECLARE ${declareSession(names)}
        held record;
      BEGIN
        SELECT u.encrypted_password, u.staged_at, u.deleted_at, u.banned_until, u.email_confirmed_at, u.phone_confirmed_at
          INTO held FROM ${names.id('users')} u WHERE u.id = p_user_id FOR NO KEY UPDATE;
        verdict := CASE
          WHEN held.encrypted_password IS DISTINCT FROM p_verified_hash THEN 'password-changed'
          WHEN held.staged_at IS NOT NULL OR held.deleted_at IS NOT NULL THEN 'password-changed'
          WHEN held.banned_until > clock_timestamp() THEN 'user-banned'
          WHEN p_provider = 'email' AND held.email_confirmed_at IS NULL THEN 'email-not-confirmed'
          WHEN p_provider = 'phone' AND held.phone_confirmed_at IS NULL THEN 'phone-not-confirmed'
        END;
        IF verdict IS NOT NULL THEN RETURN; END IF;
        moment := clock_timestamp();
        WITH u AS (
          UPDATE ${names.id('users')} AS w
            SET last_sign_in_at = moment, updated_at = moment,
              encrypted_password = coalesce(p_new_hash, w.encrypted_password)
            WHERE w.id = p_user_id RETURNING w.*),
        ${writeSession(names, PASSWORD)},
        ${writeAudit(names, entry)}
        SELECT ${profileOf(names)} INTO profile FROM u;
        verdict := 'done';
        ${answerSession(PASSWORD)}
      END $$`.execute(db)
}

/**
 * A signup that is confirmed at once, of a user with an email or a phone; one with neither is for `sign_up`, and so is whoever
 * has the identifier already.
 */
async function createSignUpAtOnce(db: Kysely<unknown>, names: Names): Promise<void> {
  const entry = { action: 'user_signedup', logType: 'team', sessionId: sql`NULL::uuid`, provider: sql`provider` }
  await sql`
      CREATE FUNCTION ${names.id('sign_up_at_once')}(
        p_user_id uuid, p_identity_id uuid, p_email text, p_phone text, p_aud text, p_role text,
        p_password_hash text, p_data jsonb, p_identity_data jsonb, p_now timestamptz,
        p_token_hash bytea, p_user_agent text, p_ip text, p_audit boolean,
        OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json,
        OUT profile json, OUT actor_id uuid
      ) LANGUAGE plpgsql ${PLANS} AS $$
      DECLARE ${declareSession(names)}
        provider text := CASE WHEN p_email IS NOT NULL THEN 'email' WHEN p_phone IS NOT NULL THEN 'phone' END;
      BEGIN
        WITH u AS (
          INSERT INTO ${names.id('users')} AS w (id, aud, role, email, phone, encrypted_password, email_confirmed_at,
              phone_confirmed_at, raw_app_meta_data, raw_user_meta_data, last_sign_in_at, created_at, updated_at)
            VALUES (p_user_id, p_aud, p_role, p_email, p_phone, p_password_hash,
              CASE WHEN provider = 'email' THEN p_now END, CASE WHEN provider = 'phone' THEN p_now END,
              jsonb_build_object('provider', provider, 'providers', jsonb_build_array(provider)), p_data, moment, p_now,
              moment)
            ON CONFLICT DO NOTHING RETURNING w.*),
        identity AS (
          INSERT INTO ${names.id('identities')} AS i
              (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
            SELECT p_identity_id, u.id, provider, u.id, p_identity_data, p_now, p_now FROM u RETURNING i.*),
        ${writeSession(names, PASSWORD)},
        ${writeAudit(names, entry)}
        SELECT ${profileOfNew()} INTO profile FROM u;
        IF FOUND THEN
          actor_id := p_user_id;
          verdict := 'signed-in';
          ${answerSession(PASSWORD)}
        ELSE
          SELECT s.verdict, s.session_id, s.aal, s.started_at, s.amr, s.profile, s.actor_id
            INTO verdict, session_id, aal, started_at, amr, profile, actor_id
            FROM ${names.id('sign_up')}(p_user_id, p_identity_id, p_email, p_phone, p_aud, p_role, p_password_hash, p_data,
              p_identity_data, p_now, true, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
              p_token_hash, p_user_agent, p_ip, p_audit) s;
        END IF;
      END $$`.execute(db)
}
