import { type RawBuilder, sql } from 'kysely'
import type { Names } from '../migration.ts'

/** Ends sessions of a user, and with all of them the changes of address that wait. @param more what else the log-out ends */
export function replaceLogOut(names: Names, more: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
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
      ${more}
      IF (p_session_id IS NULL OR p_scope = 'global')
        AND (account.email_change IS NOT NULL OR account.phone_change IS NOT NULL)
      THEN
        UPDATE ${names.id('users')} u SET email_change = NULL, email_change_confirm_status = 0, phone_change = NULL
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
    END $$`
}
