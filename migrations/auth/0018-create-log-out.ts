import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Ends sessions of a user: all, this one, or all but this one. The tokens go with them. The user's row is locked first,
// so that a refresh under way is either finished or finds nothing.
export const createLogOut: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('log_out')}(
        p_user_id uuid, p_session_id uuid, p_scope text, p_live_session_only boolean, p_ip text, p_audit boolean
      ) RETURNS text LANGUAGE plpgsql AS $$
      DECLARE
        account ${names.id('users')};
      BEGIN
        SELECT u.* INTO account FROM ${names.id('users')} u
          WHERE u.id = p_user_id AND u.deleted_at IS NULL FOR NO KEY UPDATE;
        IF NOT FOUND THEN RETURN 'user-not-found'; END IF;
        IF account.banned_until > clock_timestamp() THEN RETURN 'user-banned'; END IF;
        IF p_live_session_only AND p_session_id IS NOT NULL AND NOT EXISTS (
          SELECT FROM ${names.id('sessions')} s WHERE s.id = p_session_id AND s.user_id = p_user_id)
        THEN RETURN 'session-not-found'; END IF;
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
    await sql`DROP FUNCTION ${names.id('log_out')}(uuid, uuid, text, boolean, text, boolean)`.execute(db)
  },
})
