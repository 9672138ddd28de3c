import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { createLogOut } from './0018-create-log-out.ts'

// An access token outlives its session by as much as an hour. Whoever has stolen one could end every later session of its
// user with it, and write an entry of the audit log at each try. Now a token whose session has ended ends nothing: there is
// nothing left that it signed in. All else is as it was.
export const logOutLiveSessions: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE OR REPLACE FUNCTION ${names.id('log_out')}(
        p_user_id uuid, p_session_id uuid, p_scope text, p_live_session_only boolean, p_ip text, p_audit boolean
      ) RETURNS text LANGUAGE plpgsql AS $$
      DECLARE
        account ${names.id('users')};
      BEGIN
        SELECT u.* INTO account FROM ${names.id('users')} u
          WHERE u.id = p_user_id AND u.deleted_at IS NULL FOR NO KEY UPDATE;
        IF NOT FOUND THEN RETURN 'user-not-found'; END IF;
        IF account.banned_until > clock_timestamp() THEN RETURN 'user-banned'; END IF;
        IF p_session_id IS NOT NULL AND NOT EXISTS (
          SELECT FROM ${names.id('sessions')} s WHERE s.id = p_session_id AND s.user_id = p_user_id)
        THEN RETURN CASE WHEN p_live_session_only THEN 'session-not-found' ELSE 'done' END; END IF;
        DELETE FROM ${names.id('sessions')} s WHERE s.user_id = p_user_id AND (
          p_session_id IS NULL OR p_scope = 'global'
          OR (p_scope = 'local' AND s.id = p_session_id) OR (p_scope = 'others' AND s.id <> p_session_id));
        IF p_audit THEN
          INSERT INTO ${names.id('audit_log_entries')} (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
            VALUES (p_user_id, p_user_id, p_session_id, 'logout', 'account', coalesce(p_ip, ''),
              ${names.id('audit_payload')}(account, 'logout', 'account', NULL));
        END IF;
        RETURN 'done';
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await createLogOut(names).down?.(db)
    await createLogOut(names).up(db)
  },
})
