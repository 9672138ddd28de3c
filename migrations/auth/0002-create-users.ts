import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

// One row per user. Email and phone are unique across audiences: two users never share one, and these two indexes alone decide
// between parallel signups. The columns compare bytewise, so the unique index of emails also serves prefix searches.
//
// - `staged_at`: the row belongs to a one-time code that nobody has entered yet. No list shows it.
// - `keep_unconfirmed`: an admin or an import made the user. Clean-up removes other users who signed up and never confirmed.
// - `claimed_at`: when the account became somebody's, for good; see the trigger.
// - `email_change_asked_at`, `phone_change_asked_at`: when a signed-in user asked for the change. Anybody can have its message
//   sent again, so `…_sent_at` does not tell how old the change is. The service sends no message for an old change.
export const createUsers: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await createIndexes(db, names)
    await createClaim(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('users')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('claim_user')}()`.execute(db)
  },
})

async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('users')} (
      id uuid CONSTRAINT ${names.local('users_pkey')} PRIMARY KEY DEFAULT gen_random_uuid(),
      aud text NOT NULL,
      role text NOT NULL,
      email text COLLATE "C",
      phone text COLLATE "C",
      encrypted_password text,
      email_confirmed_at timestamptz,
      phone_confirmed_at timestamptz,
      confirmed_at timestamptz GENERATED ALWAYS AS (LEAST(email_confirmed_at, phone_confirmed_at)) STORED,
      invited_at timestamptz,
      confirmation_sent_at timestamptz,
      recovery_sent_at timestamptz,
      email_change text,
      email_change_sent_at timestamptz,
      email_change_asked_at timestamptz,
      email_change_confirm_status smallint NOT NULL DEFAULT 0,
      phone_change text,
      phone_change_sent_at timestamptz,
      phone_change_asked_at timestamptz,
      reauthentication_sent_at timestamptz,
      last_sign_in_at timestamptz,
      raw_app_meta_data jsonb NOT NULL DEFAULT '{}',
      raw_user_meta_data jsonb NOT NULL DEFAULT '{}',
      banned_until timestamptz,
      deleted_at timestamptz,
      is_anonymous boolean NOT NULL DEFAULT false,
      is_sso_user boolean NOT NULL DEFAULT false,
      staged_at timestamptz,
      claimed_at timestamptz,
      keep_unconfirmed boolean DEFAULT false,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT ${names.local('users_email_key')} UNIQUE (email),
      CONSTRAINT ${names.local('users_phone_key')} UNIQUE (phone),
      CONSTRAINT ${names.local('users_email_change_status')} CHECK (email_change_confirm_status BETWEEN 0 AND 2)
    ) WITH (fillfactor = 80)`.execute(db)
}

/** Clean-up deletes some rows at a time, again and again. These rows are always the first of an index. */
async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  const users = names.id('users')
  await sql`
    CREATE INDEX ${names.local('users_staged_at_idx')} ON ${users} (staged_at)
    WHERE staged_at IS NOT NULL`.execute(db)
  await sql`
    CREATE INDEX ${names.local('users_anonymous_idx')} ON ${users} (is_anonymous, created_at)
    WHERE is_anonymous`.execute(db)
  await sql`
    CREATE INDEX ${names.local('users_unconfirmed_idx')} ON ${users} (confirmation_sent_at)
    WHERE confirmed_at IS NULL AND invited_at IS NULL AND staged_at IS NULL AND NOT keep_unconfirmed`.execute(db)
}

/**
 * Whoever confirms an account for the first time takes it over: what came before may be a stranger's. `confirmed_at` cannot say
 * whether it is the first time, since it is null again once an established account gets another address or loses its own. The
 * first change of a confirmation writes `claimed_at`. Two others write it too: admins who create a user, and sign-ins through a
 * provider that tells no address, since nobody else can own such a user. A confirmed row needs no claim until then.
 */
async function createClaim(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('claim_user')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.claimed_at := LEAST(OLD.email_confirmed_at, OLD.phone_confirmed_at, NEW.email_confirmed_at, NEW.phone_confirmed_at);
      DELETE FROM ${names.id('sign_up_contents')} c WHERE c.user_id = NEW.id;
      RETURN NEW;
    END
    $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('users_claimed')}
    BEFORE UPDATE OF email_confirmed_at, phone_confirmed_at ON ${names.id('users')}
    FOR EACH ROW WHEN (NEW.claimed_at IS NULL AND num_nonnulls(
      OLD.email_confirmed_at, OLD.phone_confirmed_at, NEW.email_confirmed_at, NEW.phone_confirmed_at) > 0)
    EXECUTE FUNCTION ${names.id('claim_user')}()`.execute(db)
}
