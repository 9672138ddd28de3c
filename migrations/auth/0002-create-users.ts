// One row per user. The first part of the table equals the table of supabase/auth, column by column, so that SQL written for it
// works here and the service can adopt its database. Therefore most columns may be NULL, `''` means no value in columns of tokens
// and changes, and an email may contain capitals. Columns that the service does not read are written as supabase/auth does:
// `instance_id` is the nil UUID, and there is no token.
//
// Email and phone are unique across audiences: two users never have the same one, and only unique indexes decide between parallel
// sign-ups. Users of an SSO provider are an exception: several of them may have the same email, and users are never found by it.
//
// The second part is the service's own. Its columns are NULL or have a constant default.
// - `staged_at`: the row is a pending sign-up that waits for its first code. No list shows it.
// - `keep_unconfirmed`: an admin, an import or supabase/auth created the user. Clean-up removes other users who signed up and
//   never confirmed, and other anonymous users.
// - `claimed_at`: when the account got a certain owner, permanently; see the trigger.
// - `email_change_asked_at`, `phone_change_asked_at`: when a signed-in user requested the change. Anybody can have its message
//   resent, so `…_sent_at` does not show the age of the change. The service sends no message for an old change.
// - `email_change_session_id`, `phone_change_session_id`: the session that requested the newest change. Some ends of the session
//   end the change. There is no foreign key, because the change remains when the user signs out. NULL if no session of this
//   service requested the change.
// - `chosen_metadata`: names of provider claims that the user or an admin has written into `raw_user_meta_data`. A sign-in at a
//   provider does not overwrite them.
// - `console_role`: the role of the user as an operator. It is not in `raw_app_meta_data`, because triggers and imports of
//   applications also write there.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { CLEAN_UP_INDEXES } from './clean-up-indexes.ts'
import { EMAIL_KEY } from './email-key.ts'
import { createClaim } from './user-claim.ts'

/** The columns of the service, in addition to those of supabase/auth. */
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
  // An index takes long on a large table, so `auth adopt` creates all without a lock. The claim trigger is created with the table
  // that it reads, because the old server keeps confirming users between two migrations.
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
 * supabase/auth never deletes unconfirmed and anonymous users, so clean-up keeps users created by supabase/auth. It creates users
 * until the switch of an adoption. The switch sets the default of a new database.
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
 * Finds a user by an email in lower case, whatever case the row has. The index is created last, because PostgreSQL prefers the
 * newest of equally expensive indexes. A plan made for few users would otherwise scan `users_instance_id_email_idx`, whose first
 * column the query does not use, and keep doing so for many users.
 */
async function createEmailIndex(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE UNIQUE INDEX ${names.local('users_email_lower_key')} ON ${names.id('users')} ${EMAIL_KEY}`.execute(db)
}
