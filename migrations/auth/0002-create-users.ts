// One row per user. The first part of the table is the one that supabase/auth has, column by column, so that SQL written for it
// works here, and so that the service can adopt a database of it. Hence most columns may be NULL, `''` stands for none in columns
// of tokens and changes, and an email may have capitals. The service writes the columns that it does not read as supabase/auth
// does: `instance_id` is the nil UUID, and there is no token.
//
// Email and phone are unique across audiences: two users never share one, and unique indexes alone decide between parallel
// sign-ups. Users of an SSO provider are the exception: several of them may have one email, and nobody is found by it.
//
// The second part is the service's own. Its columns are NULL or have a constant default.
// - `staged_at`: the row belongs to a one-time code that nobody has entered yet. No list shows it.
// - `keep_unconfirmed`: an admin, an import or supabase/auth made the user. Clean-up removes other users who signed up and never
//   confirmed, and other anonymous users.
// - `claimed_at`: when the account became somebody's, for good; see the trigger.
// - `email_change_asked_at`, `phone_change_asked_at`: when a signed-in user asked for the change. Anybody can have its message
//   sent again, so `…_sent_at` does not tell how old the change is. The service sends no message for an old change.
// - `email_change_session_id`, `phone_change_session_id`: the session that asked for the newest change. Some ends of the session
//   end the change. There is no foreign key, because the change outlives the sign-out of its session by the user. NULL for a
//   change that no session of this service has asked for.
// - `chosen_metadata`: the names of claims of providers that the user or an admin has written into
//   `raw_user_meta_data`. A sign-in at a provider leaves them as they are.
// - `console_role`: what the user may do as an operator. It is no member of `raw_app_meta_data`, which triggers and imports of
//   applications write too.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { CLEAN_UP_INDEXES } from './clean-up-indexes.ts'
import { EMAIL_KEY } from './email-key.ts'
import { createClaim } from './user-claim.ts'

/** The columns of the service, beside those of supabase/auth. */
const OWN_COLUMNS = [
  'staged_at timestamptz',
  'claimed_at timestamptz',
  'keep_unconfirmed boolean DEFAULT false',
  'email_change_asked_at timestamptz',
  'phone_change_asked_at timestamptz',
  'email_change_session_id uuid',
  'phone_change_session_id uuid',
  'chosen_metadata text[]',
  'console_role text',
] as const
const OWN_INDEXES = [...Object.keys(CLEAN_UP_INDEXES), 'users_email_lower_key']

export const createUsers: MigrationSource = (names) => ({
  adds: { users: OWN_COLUMNS },
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await createUniqueIndexes(db, names)
    await createIndexes(db, names)
    await createEmailIndex(db, names)
    await createClaim(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('users')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('claim_user')}()`.execute(db)
  },
  // An index takes long on a large table, so `auth adopt` makes them all without a lock. The claim comes with the table that it
  // reads: an old server that serves meanwhile confirms users between two migrations.
  inPlace: {
    async up(db: Kysely<unknown>) {
      await addColumns(db, names)
    },
    async down(db: Kysely<unknown>) {
      for (const index of OWN_INDEXES) await sql`DROP INDEX IF EXISTS ${names.id(index)}`.execute(db)
      const columns = OWN_COLUMNS.map((column) => sql`DROP COLUMN ${sql.id(column.split(' ')[0] ?? '')}`)
      await sql`ALTER TABLE ${names.id('users')} ${sql.join(columns)}`.execute(db)
    },
  },
})

/**
 * supabase/auth keeps users who never confirm, and anonymous users, so clean-up keeps the users that supabase/auth has made. It
 * makes users until the switch of an adoption. The switch gives the column the default of a new database.
 */
async function addColumns(db: Kysely<unknown>, names: Names): Promise<void> {
  const columns = OWN_COLUMNS.map(
    (column) => sql`ADD COLUMN ${sql.raw(column.replace('DEFAULT false', 'DEFAULT true'))}`,
  )
  await sql`ALTER TABLE ${names.id('users')} ${sql.join(columns)}`.execute(db)
}

async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('users')} (
      instance_id uuid,
      id uuid NOT NULL CONSTRAINT ${names.local('users_pkey')} PRIMARY KEY,
      aud varchar(255),
      role varchar(255),
      email varchar(255),
      encrypted_password varchar(255),
      email_confirmed_at timestamptz,
      invited_at timestamptz,
      confirmation_token varchar(255),
      confirmation_sent_at timestamptz,
      recovery_token varchar(255),
      recovery_sent_at timestamptz,
      email_change_token_new varchar(255),
      email_change varchar(255),
      email_change_sent_at timestamptz,
      last_sign_in_at timestamptz,
      raw_app_meta_data jsonb,
      raw_user_meta_data jsonb,
      is_super_admin boolean,
      created_at timestamptz,
      updated_at timestamptz,
      phone text DEFAULT NULL::varchar,
      phone_confirmed_at timestamptz,
      phone_change text DEFAULT ''::varchar,
      phone_change_token varchar(255) DEFAULT ''::varchar,
      phone_change_sent_at timestamptz,
      confirmed_at timestamptz GENERATED ALWAYS AS (LEAST(email_confirmed_at, phone_confirmed_at)) STORED,
      email_change_token_current varchar(255) DEFAULT ''::varchar,
      email_change_confirm_status smallint DEFAULT 0,
      banned_until timestamptz,
      reauthentication_token varchar(255) DEFAULT ''::varchar,
      reauthentication_sent_at timestamptz,
      is_sso_user boolean NOT NULL DEFAULT false,
      deleted_at timestamptz,
      is_anonymous boolean NOT NULL DEFAULT false,
      ${sql.raw(OWN_COLUMNS.join(', '))},
      CONSTRAINT ${names.local('users_phone_key')} UNIQUE (phone),
      CONSTRAINT ${names.local('users_email_change_confirm_status_check')}
        CHECK (email_change_confirm_status >= 0 AND email_change_confirm_status <= 2)
    ) WITH (fillfactor = 80)`.execute(db)
}

async function createUniqueIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  const users = names.id('users')
  for (const kind of ['confirmation', 'recovery', 'reauthentication']) {
    await sql`
      CREATE UNIQUE INDEX ${names.local(`${kind}_token_idx`)} ON ${users} (${sql.ref(`${kind}_token`)})
      WHERE ${sql.ref(`${kind}_token`)} !~ '^[0-9 ]*$'`.execute(db)
  }
  for (const address of ['new', 'current']) {
    await sql`
      CREATE UNIQUE INDEX ${names.local(`email_change_token_${address}_idx`)}
      ON ${users} (${sql.ref(`email_change_token_${address}`)})
      WHERE ${sql.ref(`email_change_token_${address}`)} !~ '^[0-9 ]*$'`.execute(db)
  }
  await sql`
    CREATE UNIQUE INDEX ${names.local('users_email_partial_key')} ON ${users} (email)
    WHERE is_sso_user = false`.execute(db)
}

/** The indexes of supabase/auth, and those for clean-up. */
async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  const users = names.id('users')
  await sql`CREATE INDEX ${names.local('users_instance_id_idx')} ON ${users} (instance_id)`.execute(db)
  await sql`
    CREATE INDEX ${names.local('users_instance_id_email_idx')} ON ${users} (instance_id, lower(email))`.execute(db)
  await sql`CREATE INDEX ${names.local('users_is_anonymous_idx')} ON ${users} (is_anonymous)`.execute(db)
  await createCleanUpIndexes(db, names)
}

async function createCleanUpIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  for (const [name, definition] of Object.entries(CLEAN_UP_INDEXES))
    await sql`CREATE INDEX ${names.local(name)} ON ${names.id('users')} ${definition}`.execute(db)
}

/**
 * Finds a user by an email in lower case, however the row has it. The index is made last: of indexes that cost the same,
 * PostgreSQL takes the youngest. A plan that is made for a few users would else walk `users_instance_id_email_idx`, whose first
 * column is not asked for, and keep doing so when there are many.
 */
async function createEmailIndex(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE UNIQUE INDEX ${names.local('users_email_lower_key')} ON ${names.id('users')} ${EMAIL_KEY}`.execute(db)
}
