import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { profileOf } from './profile.ts'

// Rotation of refresh tokens (contract 5.4) in one call: find, lock, decide, write, answer. A refusal is a verdict, so
// that the writes of a refusal (the revoked family of a stolen token) are committed. The user's row is locked before the
// session's, as everywhere; only a lock that is not had within 5 s is an exception (55P03), before anything is written.
// One function on plain variables: handing whole rows to smaller functions took almost twice the time.
export const createRefreshSession: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('refresh_session')}(
        p_token_hash bytea, p_child_hash bytea, p_user_agent text, p_ip text,
        p_revoke_family boolean, p_reuse_seconds float8, p_timebox_seconds float8, p_inactivity_seconds float8,
        p_low_aal_seconds float8, p_single_per_user boolean, p_audit boolean,
        OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json,
        OUT user_id uuid, OUT profile json
      ) LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
      DECLARE
        moment timestamptz;
        held_session uuid;
        held_token bigint;
        held_counter bigint;
        held_refreshed_at timestamptz;
        held_not_after timestamptz;
        held_user uuid;
        actor jsonb;
        held_banned_until timestamptz;
      BEGIN
        ${lockSession(names)}
        IF NOT FOUND THEN verdict := 'token-not-found'; RETURN; END IF;
        moment := clock_timestamp();
        ${judgeSession(names)}
        IF verdict IS NOT NULL THEN RETURN; END IF;
        ${rotateToken(names)}
        ${touchSession(names)}
        ${writeAudit(names)}
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('refresh_session')}(
      bytea, bytea, text, text, boolean, float8, float8, float8, float8, boolean, boolean)`.execute(db)
  },
})

/**
 * Step 2. Rows are locked in the order of the FOR clauses. The token needs no lock of its own: every writer of tokens
 * holds the session's, and what is read of the token here never changes.
 */
function lockSession(names: Names): RawBuilder<unknown> {
  return sql`
        SELECT t.id, t.counter, s.id, s.aal, s.created_at, s.refreshed_at, s.not_after, u.id, u.banned_until
          INTO held_token, held_counter, held_session, aal, started_at, held_refreshed_at, held_not_after, held_user,
            held_banned_until
          FROM ${names.id('refresh_tokens')} t
          JOIN ${names.id('sessions')} s ON s.id = t.session_id
          JOIN ${names.id('users')} u ON u.id = t.user_id
          WHERE t.token_hash = p_token_hash
          FOR NO KEY UPDATE OF u FOR UPDATE OF s;`
}

/**
 * Step 1 and contract 5.3: a verdict for a session that may not be refreshed, null for one that may. Subqueries stand in
 * blocks of their own: a condition with one costs an execution even when it is not reached.
 */
function judgeSession(names: Names): RawBuilder<unknown> {
  return sql`
        verdict := CASE WHEN held_banned_until > moment THEN 'user-banned'
          ${whenExpired(sql`held_not_after`, sql`started_at`, sql`held_refreshed_at`)} END;
        IF verdict IS NULL AND aal = 'aal1' AND started_at + make_interval(secs => p_low_aal_seconds) < moment THEN
          IF EXISTS (SELECT FROM ${names.id('mfa_factors')} f WHERE f.user_id = held_user AND f.status = 'verified')
          THEN verdict := 'session-low-aal'; END IF;
        END IF;
        IF verdict IS NULL AND p_single_per_user THEN
          IF EXISTS (SELECT FROM ${names.id('sessions')} o WHERE o.user_id = held_user AND o.id <> held_session
            AND coalesce(o.refreshed_at, o.created_at) > coalesce(held_refreshed_at, started_at)
            AND CASE ${whenExpired(sql`o.not_after`, sql`o.created_at`, sql`o.refreshed_at`)} END IS NULL)
          THEN verdict := 'session-superseded'; END IF;
        END IF;`
}

/** Branches of a CASE on a session's own times. Ages in seconds; a null age is no limit. */
function whenExpired(
  notAfter: RawBuilder<unknown>,
  createdAt: RawBuilder<unknown>,
  refreshedAt: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
          WHEN ${notAfter} < moment OR ${createdAt} + make_interval(secs => p_timebox_seconds) < moment
            THEN 'session-expired'
          WHEN coalesce(${refreshedAt}, ${createdAt}) + make_interval(secs => p_inactivity_seconds) < moment
            THEN 'session-inactive'`
}

/**
 * Steps 3 to 5: `rotated` (a child was inserted), `reused` (the direct parent within its interval gets the same child
 * again) or `stolen`. The child's hash is replaced when the service's secret has changed since it was made.
 */
function rotateToken(names: Names): RawBuilder<unknown> {
  const tokens = names.id('refresh_tokens')
  return sql`
        WITH parent AS (
          UPDATE ${tokens} t SET revoked = true, updated_at = moment WHERE t.id = held_token AND NOT t.revoked RETURNING 1)
        INSERT INTO ${tokens} (session_id, user_id, token_hash, counter, parent_id, created_at, updated_at)
          SELECT held_session, held_user, p_child_hash, held_counter + 1, held_token, moment, moment FROM parent;
        IF FOUND THEN
          verdict := 'rotated';
        ELSIF EXISTS (
          SELECT FROM ${tokens} t
          JOIN ${tokens} child ON child.parent_id = t.id AND child.session_id = t.session_id
            AND child.counter = (SELECT max(n.counter) FROM ${tokens} n WHERE n.session_id = held_session)
          WHERE t.id = held_token AND NOT child.revoked
            AND moment <= t.updated_at + make_interval(secs => p_reuse_seconds))
        THEN
          verdict := 'reused';
          UPDATE ${tokens} t SET token_hash = p_child_hash
            WHERE t.session_id = held_session AND t.counter = held_counter + 1 AND t.token_hash <> p_child_hash;
        ELSE
          verdict := 'stolen';
          user_id := held_user;
          SELECT ${actorOf} INTO actor FROM ${names.id('users')} u WHERE u.id = held_user;
          IF p_revoke_family THEN
            UPDATE ${tokens} t SET revoked = true, updated_at = moment
              WHERE t.session_id = held_session AND NOT t.revoked;
          END IF;
        END IF;`
}

/** Step 6, and what the session's body is made of. */
function touchSession(names: Names): RawBuilder<unknown> {
  return sql`
        IF verdict <> 'stolen' THEN
          session_id := held_session;
          user_id := held_user;
          WITH touched AS (
            UPDATE ${names.id('sessions')} s
              SET refreshed_at = moment, updated_at = moment, user_agent = p_user_agent, last_ip = nullif(p_ip, '')::inet
              WHERE s.id = held_session)
          UPDATE ${names.id('users')} u SET last_sign_in_at = moment, updated_at = moment WHERE u.id = held_user
            RETURNING ${actorOf}, ${profileOf(names)}, (
              SELECT json_agg(json_build_object('method', a.authentication_method,
                'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC, a.id DESC)
              FROM ${names.id('mfa_amr_claims')} a WHERE a.session_id = held_session)
            INTO actor, profile, amr;
        END IF;`
}

/** The actor of audit entries, from a row `u` of users: as `audit_payload` writes it. */
const actorOf = sql`jsonb_strip_nulls(jsonb_build_object(
  'actor_id', u.id, 'actor_username', coalesce(u.phone, u.email, ''),
  'actor_name', nullif(u.raw_user_meta_data ->> 'full_name', ''), 'actor_via_sso', u.is_sso_user))`

function writeAudit(names: Names): RawBuilder<unknown> {
  return sql`
        IF p_audit THEN
          INSERT INTO ${names.id('audit_log_entries')}
              (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
            SELECT held_user, held_user, held_session, e.action, 'token', coalesce(p_ip, ''),
              actor || jsonb_build_object('action', e.action, 'log_type', 'token')
            FROM (VALUES ('token_refreshed', verdict <> 'stolen'),
              ('token_revoked', verdict = 'rotated' OR (verdict = 'stolen' AND p_revoke_family))) AS e (action, due)
            WHERE e.due;
        END IF;`
}
