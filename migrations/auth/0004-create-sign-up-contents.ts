// Anybody can sign up with somebody else's address. When the owner then signs up or asks for a code, and confirms, the account
// must not hold the password and the metadata of the stranger who came first. So each request whose message may confirm an
// account notes here what it brings, by the kind of its message, and confirming by a message takes on the content of its request.
// An account has rows here while it began with a sign-up, or came by an import of users, and nobody has confirmed it.
//
// The function sign_up takes a sign-up as a value of the two types here, so that its members have names: the account that it
// makes where nobody has the identifier, and the message that confirms the identifier.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { createClaim, dropClaim } from './user-claim.ts'

export const createSignUpContents: MigrationSource = (names) => ({
  up: (db: Kysely<unknown>) => createObjects(db, names),
  down: (db: Kysely<unknown>) => dropObjects(db, names),
  // The trigger of the users reads the table, so it comes after it and goes before it.
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
 * `sign_up_message`, whose members are all null where `confirmed`: the row of send_throttle that notes its interval, and until
 * when the last message must have gone out for a new one to be due. Then the secrets of the message, the code challenge of a
 * PKCE flow or null, and the job {task, data} that sends the message: to a new user, and to a user who has not confirmed. A null
 * job sends nothing. The job for a new user has a third member, `message`: what operators see of it.
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
