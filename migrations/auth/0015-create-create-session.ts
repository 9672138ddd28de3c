import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { profileOf } from './profile.ts'

// A sign-in writes the session, its first refresh token, how the person proved who they are, and the user's last sign-in.
// One function does it for every way to sign in, and answers what the session's body is made of, so that no statement
// follows. The user's row is locked first (by its update), as everywhere.
export const createCreateSession: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createAuditPayload(db, names)
    await sql`
      CREATE FUNCTION ${names.id('create_session')}(
        p_user_id uuid, p_token_hash bytea, p_method text, p_user_agent text, p_ip text,
        OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json,
        OUT profile json
      ) LANGUAGE plpgsql AS $$
      DECLARE
        moment timestamptz := clock_timestamp();
      BEGIN
        UPDATE ${names.id('users')} u SET last_sign_in_at = moment, updated_at = moment
          WHERE u.id = p_user_id RETURNING ${profileOf(names)} INTO profile;
        IF NOT FOUND THEN verdict := 'user-not-found'; RETURN; END IF;
        INSERT INTO ${names.id('sessions')} AS s (user_id, user_agent, ip, last_ip, created_at, updated_at)
          VALUES (p_user_id, p_user_agent, nullif(p_ip, '')::inet, nullif(p_ip, '')::inet, moment, moment)
          RETURNING s.id, s.aal, s.created_at INTO session_id, aal, started_at;
        INSERT INTO ${names.id('refresh_tokens')} (session_id, user_id, token_hash, counter, created_at, updated_at)
          VALUES (session_id, p_user_id, p_token_hash, 0, moment, moment);
        INSERT INTO ${names.id('mfa_amr_claims')} (session_id, authentication_method, created_at, updated_at)
          VALUES (session_id, p_method, moment, moment);
        amr := json_build_array(
          json_build_object('method', p_method, 'timestamp', floor(extract(epoch FROM moment))::bigint));
        verdict := 'done';
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('create_session')}(uuid, bytea, text, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('audit_payload')}(${names.id('users')}, text, text, jsonb)`.execute(db)
  },
})

/** What an audit entry says about its actor; the same members as those that the service writes itself. */
async function createAuditPayload(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('audit_payload')}(
      actor ${names.id('users')}, action text, log_type text, traits jsonb
    ) RETURNS jsonb LANGUAGE sql STABLE AS $$
      SELECT jsonb_strip_nulls(jsonb_build_object(
        'actor_id', actor.id, 'actor_username', coalesce(actor.phone, actor.email, ''),
        'actor_name', nullif(actor.raw_user_meta_data ->> 'full_name', ''), 'actor_via_sso', actor.is_sso_user,
        'action', action, 'log_type', log_type, 'traits', traits))
    $$`.execute(db)
}
