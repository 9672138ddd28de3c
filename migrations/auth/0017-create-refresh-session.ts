import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

// Rotation of refresh tokens (contract 5.4) in one call: find, lock, decide, write, answer. A refusal is a verdict, so
// that the writes of a refusal (the revoked family of a stolen token) are committed. The user's row is locked before the
// session's, as everywhere; only a lock that is not had within 5 s is an exception (55P03), before anything is written.
export const createRefreshSession: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createSessionRefusal(db, names)
    await createRotateToken(db, names)
    await createRefresh(db, names)
  },
  async down(db: Kysely<unknown>) {
    const [users, sessions, tokens] = [names.id('users'), names.id('sessions'), names.id('refresh_tokens')]
    await sql`DROP FUNCTION ${names.id('refresh_session')}(
      bytea, bytea, text, text, boolean, float8, float8, float8, float8, boolean, boolean)`.execute(db)
    await sql`DROP FUNCTION ${names.id('rotate_refresh_token')}(${tokens}, bytea, boolean, float8)`.execute(db)
    await sql`DROP FUNCTION ${names.id('session_refusal')}(
      ${sessions}, ${users}, float8, float8, float8, boolean)`.execute(db)
    await sql`DROP FUNCTION ${names.id('session_expiry')}(${sessions}, timestamptz, float8, float8)`.execute(db)
  },
})

/** Why a session may not be refreshed, or null. Ages in seconds; a null age is no limit. */
async function createSessionRefusal(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('session_expiry')}(
      session ${names.id('sessions')}, moment timestamptz, timebox float8, inactivity float8
    ) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE
        WHEN session.not_after < moment THEN 'session-expired'
        WHEN session.created_at + make_interval(secs => timebox) < moment THEN 'session-expired'
        WHEN coalesce(session.refreshed_at, session.created_at) + make_interval(secs => inactivity) < moment
          THEN 'session-inactive'
      END
    $$`.execute(db)
  await sql`
    CREATE FUNCTION ${names.id('session_refusal')}(
      session ${names.id('sessions')}, account ${names.id('users')},
      timebox float8, inactivity float8, low_aal float8, single_per_user boolean
    ) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      moment timestamptz := clock_timestamp();
      refusal text;
    BEGIN
      IF account.banned_until > moment THEN RETURN 'user-banned'; END IF;
      refusal := ${names.id('session_expiry')}(session, moment, timebox, inactivity);
      IF refusal IS NOT NULL THEN RETURN refusal; END IF;
      IF low_aal IS NOT NULL AND session.aal = 'aal1' AND session.created_at + make_interval(secs => low_aal) < moment
        AND EXISTS (SELECT FROM ${names.id('mfa_factors')} f WHERE f.user_id = account.id AND f.status = 'verified')
      THEN RETURN 'session-low-aal'; END IF;
      IF single_per_user AND EXISTS (
        SELECT FROM ${names.id('sessions')} o
        WHERE o.user_id = account.id AND o.id <> session.id
          AND coalesce(o.refreshed_at, o.created_at) > coalesce(session.refreshed_at, session.created_at)
          AND ${names.id('session_expiry')}(o, moment, timebox, inactivity) IS NULL)
      THEN RETURN 'session-superseded'; END IF;
      RETURN NULL;
    END $$`.execute(db)
}

/**
 * Steps 3 to 5 for a token that is locked together with its session: `rotated` (a child was inserted), `reused` (the
 * direct parent within its interval gets the same child again) or `stolen`. `child_hash` replaces the hash of the child
 * that is there when the service's secret has changed since.
 */
async function createRotateToken(db: Kysely<unknown>, names: Names): Promise<void> {
  const tokens = names.id('refresh_tokens')
  await sql`
    CREATE FUNCTION ${names.id('rotate_refresh_token')}(
      token ${tokens}, child_hash bytea, revoke_family boolean, reuse_seconds float8
    ) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      moment timestamptz := clock_timestamp();
      newest ${tokens};
    BEGIN
      IF NOT token.revoked THEN
        UPDATE ${tokens} t SET revoked = true, updated_at = moment WHERE t.id = token.id;
        INSERT INTO ${tokens} (session_id, user_id, token_hash, counter, parent_id, created_at, updated_at)
          VALUES (token.session_id, token.user_id, child_hash, token.counter + 1, token.id, moment, moment);
        RETURN 'rotated';
      END IF;
      SELECT t.* INTO newest FROM ${tokens} t WHERE t.session_id = token.session_id ORDER BY t.counter DESC LIMIT 1;
      IF NOT newest.revoked AND newest.parent_id = token.id
        AND moment <= token.updated_at + make_interval(secs => reuse_seconds)
      THEN
        UPDATE ${tokens} t SET token_hash = child_hash WHERE t.id = newest.id AND t.token_hash <> child_hash;
        RETURN 'reused';
      END IF;
      IF revoke_family THEN
        UPDATE ${tokens} t SET revoked = true, updated_at = moment
          WHERE t.session_id = token.session_id AND NOT t.revoked;
      END IF;
      RETURN 'stolen';
    END $$`.execute(db)
}

async function createRefresh(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('refresh_session')}(
      p_token_hash bytea, p_child_hash bytea, p_user_agent text, p_ip text,
      p_revoke_family boolean, p_reuse_seconds float8, p_timebox_seconds float8, p_inactivity_seconds float8,
      p_low_aal_seconds float8, p_single_per_user boolean, p_audit boolean,
      OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json,
      OUT account ${names.id('users')}
    ) LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
    DECLARE
      held record;
      moment timestamptz;
    BEGIN
      SELECT u AS account, s AS session, t AS token INTO held
        FROM ${names.id('refresh_tokens')} t
        JOIN ${names.id('sessions')} s ON s.id = t.session_id
        JOIN ${names.id('users')} u ON u.id = t.user_id
        WHERE t.token_hash = p_token_hash
        FOR NO KEY UPDATE OF u FOR UPDATE OF s FOR UPDATE OF t;
      IF NOT FOUND THEN verdict := 'token-not-found'; RETURN; END IF;
      verdict := ${names.id('session_refusal')}(held.session, held.account,
        p_timebox_seconds, p_inactivity_seconds, p_low_aal_seconds, p_single_per_user);
      IF verdict IS NOT NULL THEN RETURN; END IF;
      verdict := ${names.id('rotate_refresh_token')}(held.token, p_child_hash, p_revoke_family, p_reuse_seconds);
      moment := clock_timestamp();
      session_id := (held.session).id;
      IF verdict <> 'stolen' THEN
        aal := (held.session).aal;
        started_at := (held.session).created_at;
        UPDATE ${names.id('sessions')} s
          SET refreshed_at = moment, updated_at = moment, user_agent = p_user_agent, last_ip = nullif(p_ip, '')::inet
          WHERE s.id = session_id;
        UPDATE ${names.id('users')} u SET last_sign_in_at = moment, updated_at = moment
          WHERE u.id = (held.account).id RETURNING u.* INTO account;
        SELECT json_agg(json_build_object('method', a.authentication_method,
            'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC, a.id DESC)
          INTO amr FROM ${names.id('mfa_amr_claims')} a WHERE a.session_id = (held.session).id;
      END IF;
      IF p_audit THEN
        INSERT INTO ${names.id('audit_log_entries')} (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
          SELECT (held.account).id, (held.account).id, (held.session).id, e.action, 'token', coalesce(p_ip, ''),
            ${names.id('audit_payload')}(held.account, e.action, 'token', NULL)
          FROM (VALUES ('token_refreshed', verdict <> 'stolen'),
            ('token_revoked', verdict = 'rotated' OR (verdict = 'stolen' AND p_revoke_family))) AS e (action, due)
          WHERE e.due;
      END IF;
    END $$`.execute(db)
}
