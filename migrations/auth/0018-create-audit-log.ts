// The actions of users, admins and operators, and the affected users. Entries remain after their users and sessions are deleted, so
// no column is a foreign key.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createAuditLog: MigrationSource = (names) => ({
  replaces: ['audit_log_entries'],
  async up(db: Kysely<unknown>) {
    const entries = names.id('audit_log_entries')
    await sql`
      CREATE TABLE ${entries} (
        id uuid CONSTRAINT ${names.local('audit_log_entries_pkey')} PRIMARY KEY DEFAULT ${names.id('uuid_v7')}(),
        actor_id uuid,
        target_user_id uuid,
        session_id uuid,
        action text NOT NULL,
        log_type text NOT NULL,
        ip_address text NOT NULL DEFAULT '',
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        payload jsonb NOT NULL
      )`.execute(db)
    await sql`CREATE INDEX ${names.local('audit_log_created_at_idx')} ON ${entries} (created_at DESC)`.execute(db)
    // Operators look up actions on a user, and who did them. The index omits refreshes, because they are most of the log, and each
    // further index would slow them.
    await sql`
      CREATE INDEX ${names.local('audit_log_target_idx')} ON ${entries} (target_user_id, created_at DESC)
      WHERE log_type <> 'token'`.execute(db)
    await sql`
      CREATE INDEX ${names.local('audit_log_actor_idx')} ON ${entries} (actor_id, created_at DESC)
      WHERE actor_id <> target_user_id`.execute(db)
    // Operators see the number of sign-ins by day.
    await sql`
      CREATE INDEX ${names.local('audit_log_login_idx')} ON ${entries} (created_at) WHERE action = 'login'`.execute(db)
    // Operators look up actions, even actions without entries. The index omits frequent actions: these are found by time, and one
    // more index would slow every sign-in and refresh.
    await sql`
      CREATE INDEX ${names.local('audit_log_action_idx')} ON ${entries} (action, created_at DESC, id DESC)
      WHERE action NOT IN ('login', 'token_revoked', 'token_refreshed')`.execute(db)
    await boundNames(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('audit_log_entries')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('bound_audit_name')}()`.execute(db)
  },
})

/**
 * The name of an actor is copied from metadata that the actor chose, up to 64 KiB. The trigger shortens the name for every role
 * that writes an entry, so that strangers cannot inflate the log with long names.
 */
async function boundNames(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('bound_audit_name')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.payload := jsonb_set(NEW.payload, '{actor_name}', to_jsonb(left(NEW.payload ->> 'actor_name', 120)));
      RETURN NEW;
    END
    $$`.execute(db)
  // PostgreSQL checks the condition without calling the function, which very few entries need.
  await sql`
    CREATE TRIGGER ${names.local('audit_log_name_bounded')} BEFORE INSERT ON ${names.id('audit_log_entries')}
    FOR EACH ROW WHEN (length(NEW.payload ->> 'actor_name') > 120)
    EXECUTE FUNCTION ${names.id('bound_audit_name')}()`.execute(db)
}
