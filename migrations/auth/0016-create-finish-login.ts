import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// The second half of a password login. The hash was compared without a connection or a lock, so the row may have changed
// meanwhile: only a user who still has the very hash that was compared gets a session. Order as in contract 4.5: the
// password first, then the ban, then the confirmation.
export const createFinishLogin: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('finish_password_login')}(
        p_user_id uuid, p_verified_hash text, p_new_hash text, p_provider text, p_token_hash bytea,
        p_user_agent text, p_ip text, p_audit boolean,
        OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json,
        OUT profile json
      ) LANGUAGE plpgsql AS $$
      DECLARE
        found_user ${names.id('users')};
        created record;
      BEGIN
        SELECT u.* INTO found_user FROM ${names.id('users')} u WHERE u.id = p_user_id FOR NO KEY UPDATE;
        verdict := CASE
          WHEN found_user.encrypted_password IS DISTINCT FROM p_verified_hash THEN 'password-changed'
          WHEN found_user.staged_at IS NOT NULL OR found_user.deleted_at IS NOT NULL THEN 'password-changed'
          WHEN found_user.banned_until > clock_timestamp() THEN 'user-banned'
          WHEN p_provider = 'email' AND found_user.email_confirmed_at IS NULL THEN 'email-not-confirmed'
          WHEN p_provider = 'phone' AND found_user.phone_confirmed_at IS NULL THEN 'phone-not-confirmed'
        END;
        IF verdict IS NOT NULL THEN RETURN; END IF;
        IF p_new_hash IS NOT NULL THEN
          UPDATE ${names.id('users')} u SET encrypted_password = p_new_hash WHERE u.id = p_user_id;
        END IF;
        SELECT c.* INTO created
          FROM ${names.id('create_session')}(p_user_id, p_token_hash, 'password', p_user_agent, p_ip) c;
        verdict := created.verdict;
        session_id := created.session_id;
        aal := created.aal;
        started_at := created.started_at;
        amr := created.amr;
        profile := created.profile;
        IF p_audit THEN
          INSERT INTO ${names.id('audit_log_entries')} (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
            VALUES (p_user_id, p_user_id, session_id, 'login', 'account', coalesce(p_ip, ''), ${names.id('audit_payload')}(
              found_user, 'login', 'account', jsonb_build_object('provider', p_provider)));
        END IF;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`
      DROP FUNCTION ${names.id('finish_password_login')}(uuid, text, text, text, bytea, text, text, boolean)`.execute(
      db,
    )
  },
})
