import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// What strangers can make grow. The name of an actor in the audit log was a copy of metadata of up to 64 KiB in every entry:
// now it is cut off, whoever writes the entry. And users who signed up and never confirmed can be removed after a while:
// `keep_unconfirmed` marks those whom an admin or an import has made, and everybody who was there before this.
export const boundGrowth: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('bound_audit_name')}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.payload := jsonb_set(NEW.payload, '{actor_name}', to_jsonb(left(NEW.payload ->> 'actor_name', 120)));
        RETURN NEW;
      END $$`.execute(db)
    // The condition is judged without a call of the function, which hardly any entry needs.
    await sql`
      CREATE TRIGGER ${names.local('audit_log_name_bounded')} BEFORE INSERT ON ${names.id('audit_log_entries')}
      FOR EACH ROW WHEN (length(NEW.payload ->> 'actor_name') > 120) EXECUTE FUNCTION ${names.id('bound_audit_name')}()`.execute(
      db,
    )
    // The first default is for the rows that there are, and rewrites none of them.
    await sql`ALTER TABLE ${names.id('users')} ADD COLUMN keep_unconfirmed boolean DEFAULT true`.execute(db)
    await sql`ALTER TABLE ${names.id('users')} ALTER COLUMN keep_unconfirmed SET DEFAULT false`.execute(db)
    await sql`
      CREATE INDEX ${names.local('users_unconfirmed_idx')} ON ${names.id('users')} (confirmation_sent_at)
      WHERE confirmed_at IS NULL AND invited_at IS NULL AND staged_at IS NULL AND NOT keep_unconfirmed`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP INDEX ${names.id('users_unconfirmed_idx')}`.execute(db)
    await sql`ALTER TABLE ${names.id('users')} DROP COLUMN keep_unconfirmed`.execute(db)
    await sql`DROP TRIGGER ${names.local('audit_log_name_bounded')} ON ${names.id('audit_log_entries')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('bound_audit_name')}()`.execute(db)
  },
})
