import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { profileOf } from './profile.ts'

// What every kind of second factor does to the session that has shown it (contract 6.4): aal2, another refresh token, and no
// session of the user below aal2 beside it. The old refresh token is revoked as of the epoch: whoever has it from the time
// before may not fetch the new one. The session of a stolen token stays dead. Its caller has locked the user.
export const createPromoteSession: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('promote_session')}(
        p_user_id uuid, p_session_id uuid, p_factor_id uuid, p_method text, p_token_hash bytea, p_user_agent text, p_ip text,
        OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json,
        OUT profile json
      ) LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
      DECLARE
        moment timestamptz := clock_timestamp();
        newest ${names.id('refresh_tokens')};
      BEGIN
        SELECT s.created_at INTO started_at FROM ${names.id('sessions')} s
          WHERE s.id = p_session_id AND s.user_id = p_user_id FOR UPDATE;
        SELECT t.* INTO newest FROM ${names.id('refresh_tokens')} t
          WHERE t.session_id = p_session_id ORDER BY t.counter DESC LIMIT 1;
        IF started_at IS NULL OR newest.revoked IS DISTINCT FROM false THEN
          verdict := 'session-not-found';
          RETURN;
        END IF;
        UPDATE ${names.id('refresh_tokens')} t SET revoked = true, updated_at = 'epoch' WHERE t.id = newest.id;
        INSERT INTO ${names.id('refresh_tokens')}
            (session_id, user_id, token_hash, counter, parent_id, created_at, updated_at)
          VALUES (p_session_id, p_user_id, p_token_hash, newest.counter + 1, newest.id, moment, moment);
        INSERT INTO ${names.id('mfa_amr_claims')} AS a (session_id, authentication_method, created_at, updated_at)
          VALUES (p_session_id, p_method, moment, moment)
          ON CONFLICT ON CONSTRAINT ${names.local('mfa_amr_claims_method_key')} DO UPDATE SET updated_at = moment;
        UPDATE ${names.id('sessions')} s
          SET aal = 'aal2', factor_id = p_factor_id, refreshed_at = moment, updated_at = moment,
            user_agent = p_user_agent, last_ip = nullif(p_ip, '')::inet
          WHERE s.id = p_session_id;
        DELETE FROM ${names.id('sessions')} s
          WHERE s.user_id = p_user_id AND s.id <> p_session_id AND s.aal = 'aal1';
        session_id := p_session_id;
        aal := 'aal2';
        SELECT ${profileOf(names)}, (
            SELECT json_agg(json_build_object('method', a.authentication_method,
              'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC, a.id DESC)
            FROM ${names.id('mfa_amr_claims')} a WHERE a.session_id = p_session_id)
          INTO profile, amr FROM ${names.id('users')} u WHERE u.id = p_user_id;
        verdict := 'done';
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('promote_session')}(uuid, uuid, uuid, text, bytea, text, text)`.execute(db)
  },
})
