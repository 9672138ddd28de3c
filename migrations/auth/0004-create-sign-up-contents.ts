// Anybody can sign up with somebody else's address. When the owner then signs up or asks for a code, and confirms, the account
// must not hold the password and the metadata of whoever came first. So each request whose message may confirm an account notes
// here what it brings, by the kind of its message, and confirming by a message takes on the content of its request. An account
// has rows here while it began with a sign-up and nobody has confirmed it.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createSignUpContents: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
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
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('sign_up_contents')}`.execute(db)
  },
})
