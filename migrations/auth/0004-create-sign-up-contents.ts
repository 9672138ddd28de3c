// Anybody can sign up with another person's address. When the owner then signs up or requests a code, and confirms, the account
// must not keep the password and metadata of the stranger who came first. So each request whose message may confirm an account
// stores its content here, by the kind of message. Confirming by a message applies the content of its request. An account has
// rows here if it began with a sign-up or a user import and is not yet confirmed.
//
// The function sign_up takes a sign-up as values of the two types here, so that the members have names: the account to create if
// the identifier is free, and the message that confirms the identifier.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { createClaim, dropClaim } from './user-claim.ts'

export const createSignUpContents: MigrationSource = (names) => ({
  up: (db: Kysely<unknown>) => createObjects(db, names),
  down: (db: Kysely<unknown>) => dropObjects(db, names),
  // The trigger on users reads this table, so it is created after the table and dropped before it.
  inPlace: {
    async up(db: Kysely<unknown>) {
      await createObjects(db, names)
      await createClaim(db, names)
    },
    async down(db: Kysely<unknown>) {
      await dropClaim(db, names)
      await dropObjects(db, names)
    },
  },
})

async function createObjects(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('sign_up_contents')} (
      user_id uuid NOT NULL,
      kind text NOT NULL,
      aud text NOT NULL,
      data jsonb NOT NULL,
      password_hash text,
      CONSTRAINT ${names.local('sign_up_contents_pkey')} PRIMARY KEY (user_id, kind),
      CONSTRAINT ${names.local('sign_up_contents_user_fkey')}
        FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE
    )`.execute(db)
  await createSignUpTypes(db, names)
}

async function dropObjects(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`DROP TYPE ${names.id('sign_up_message')}, ${names.id('sign_up_item')}`.execute(db)
  await sql`DROP TABLE ${names.id('sign_up_contents')}`.execute(db)
}

/**
 * `sign_up_item`: the account. `confirmed`: whether the identifier counts as confirmed, so that the user is signed in.
 *
 * `sign_up_message`: all members are NULL if `confirmed`. First the row of send_throttle for its interval, and the latest time of
 * the last message at which a new one is due. Then the secrets of the message, the PKCE code challenge or NULL, and the jobs
 * {task, data} that send it: to a new user, and to a user who has not confirmed. A NULL job sends nothing. The job for a new user
 * has a third member, `message`: the message as operators see it.
 */
async function createSignUpTypes(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TYPE ${names.id('sign_up_item')} AS (
      user_id uuid, identity_id uuid, email text, phone text, aud text, role text, password_hash text, data jsonb,
      identity_data jsonb, created_at timestamptz, confirmed boolean
    )`.execute(db)
  await sql`
    CREATE TYPE ${names.id('sign_up_message')} AS (
      interval_key bytea, interval_kind text, due_before timestamptz,
      token_kind text, link_hash bytea, code_hash bytea, code_salt bytea, expires_at timestamptz,
      code_challenge text, code_challenge_method text, job jsonb, job_again jsonb
    )`.execute(db)
}
