import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { logOutLiveSessions } from './0086-log-out-live-sessions.ts'

// A change of email or phone that a thief has asked for waited until its code was entered, though its session had ended. Now a
// log-out from everywhere ends it too; all else of the function is as it was. And anybody can have the messages of a change sent
// again, so `..._asked_at` says when somebody who was signed in asked for it: an old change is not sent any more.
export const endAddressChanges: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    const users = names.id('users')
    await sql`
      ALTER TABLE ${users} ADD COLUMN email_change_asked_at timestamptz, ADD COLUMN phone_change_asked_at timestamptz`.execute(
      db,
    )
    await sql`
      UPDATE ${users} u SET email_change_asked_at = u.email_change_sent_at, phone_change_asked_at = u.phone_change_sent_at
      WHERE u.email_change IS NOT NULL OR u.phone_change IS NOT NULL`.execute(db)
    await sql`
      CREATE OR REPLACE FUNCTION ${names.id('log_out')}(
        p_user_id uuid, p_session_id uuid, p_scope text, p_live_session_only boolean, p_ip text, p_audit boolean
      ) RETURNS text LANGUAGE plpgsql AS $$
      DECLARE
        account ${users};
      BEGIN
        SELECT u.* INTO account FROM ${users} u
          WHERE u.id = p_user_id AND u.deleted_at IS NULL FOR NO KEY UPDATE;
        IF NOT FOUND THEN RETURN 'user-not-found'; END IF;
        IF account.banned_until > clock_timestamp() THEN RETURN 'user-banned'; END IF;
        IF p_session_id IS NOT NULL AND NOT EXISTS (
          SELECT FROM ${names.id('sessions')} s WHERE s.id = p_session_id AND s.user_id = p_user_id)
        THEN RETURN CASE WHEN p_live_session_only THEN 'session-not-found' ELSE 'done' END; END IF;
        DELETE FROM ${names.id('sessions')} s WHERE s.user_id = p_user_id AND (
          p_session_id IS NULL OR p_scope = 'global'
          OR (p_scope = 'local' AND s.id = p_session_id) OR (p_scope = 'others' AND s.id <> p_session_id));
        IF (p_session_id IS NULL OR p_scope = 'global')
          AND (account.email_change IS NOT NULL OR account.phone_change IS NOT NULL)
        THEN
          UPDATE ${users} u SET email_change = NULL, email_change_confirm_status = 0, phone_change = NULL
            WHERE u.id = p_user_id;
          DELETE FROM ${names.id('one_time_tokens')} t WHERE t.user_id = p_user_id
            AND t.kind IN ('email_change_new', 'email_change_current', 'phone_change');
        END IF;
        IF p_audit THEN
          INSERT INTO ${names.id('audit_log_entries')} (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
            VALUES (p_user_id, p_user_id, p_session_id, 'logout', 'account', coalesce(p_ip, ''),
              ${names.id('audit_payload')}(account, 'logout', 'account', NULL));
        END IF;
        RETURN 'done';
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await logOutLiveSessions(names).up(db)
    await sql`
      ALTER TABLE ${names.id('users')} DROP COLUMN email_change_asked_at, DROP COLUMN phone_change_asked_at`.execute(db)
  },
})
