import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Whoever confirms an account for the first time takes it over: what came before may be a stranger's. `confirmed_at` cannot say
// whether it is the first time, since it is null again once an established account gets another address, or loses its own.
// So `claimed_at` keeps when an account became somebody's, for good. It is written by the first change of a confirmation, by
// admins who make a user, and for users whom a provider made without an address: nobody else can own these.
export const claimUsers: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    const users = names.id('users')
    await sql`ALTER TABLE ${users} ADD COLUMN claimed_at timestamptz`.execute(db)
    // A row that is confirmed needs no claim before its confirmation changes, so confirmed users are not rewritten here.
    await sql`
      CREATE FUNCTION ${names.id('claim_user')}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.claimed_at := LEAST(OLD.email_confirmed_at, OLD.phone_confirmed_at, NEW.email_confirmed_at, NEW.phone_confirmed_at);
        DELETE FROM ${names.id('sign_up_contents')} c WHERE c.user_id = NEW.id;
        RETURN NEW;
      END $$`.execute(db)
    await sql`
      CREATE TRIGGER ${names.local('users_claimed')} BEFORE UPDATE OF email_confirmed_at, phone_confirmed_at ON ${users}
      FOR EACH ROW WHEN (NEW.claimed_at IS NULL AND num_nonnulls(
        OLD.email_confirmed_at, OLD.phone_confirmed_at, NEW.email_confirmed_at, NEW.phone_confirmed_at) > 0)
      EXECUTE FUNCTION ${names.id('claim_user')}()`.execute(db)
    await sql`
      UPDATE ${users} u SET claimed_at = u.created_at
      WHERE u.confirmed_at IS NULL AND u.email IS NULL AND u.phone IS NULL AND NOT u.is_anonymous AND u.deleted_at IS NULL
        AND NOT EXISTS (SELECT FROM ${names.id('identities')} i WHERE i.user_id = u.id AND i.email IS NOT NULL)`.execute(
      db,
    )
    // What signups have left with accounts that an admin has confirmed since.
    await sql`
      DELETE FROM ${names.id('sign_up_contents')} c USING ${users} u
      WHERE u.id = c.user_id AND u.confirmed_at IS NOT NULL`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TRIGGER ${names.local('users_claimed')} ON ${names.id('users')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('claim_user')}()`.execute(db)
    await sql`ALTER TABLE ${names.id('users')} DROP COLUMN claimed_at`.execute(db)
  },
})
