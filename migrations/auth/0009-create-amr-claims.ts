// How the user of a session has proven who they are, and when last: the `amr` claim of the session's access tokens.
//
// The table is the one that supabase/auth has, column by column; see the table of users. One column is the service's own:
// `credential_since` says since when the credential of the proof belongs to the account. The thief of a session can add a
// credential of their own and sign in by it: the new session looks fresh. So a new password counts only proofs by credentials
// that are old enough. NULL: since the account was made.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createAmrClaims: MigrationSource = (names) => ({
  adds: { mfa_amr_claims: ['credential_since timestamptz'] },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('mfa_amr_claims')} (
        session_id uuid NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        authentication_method text NOT NULL,
        id uuid NOT NULL CONSTRAINT ${names.local('amr_id_pk')} PRIMARY KEY,
        credential_since timestamptz,
        CONSTRAINT ${names.local('mfa_amr_claims_session_id_authentication_method_pkey')}
          UNIQUE (session_id, authentication_method),
        CONSTRAINT ${names.local('mfa_amr_claims_session_id_fkey')}
          FOREIGN KEY (session_id) REFERENCES ${names.id('sessions')} (id) ON DELETE CASCADE
      ) WITH (fillfactor = 80)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('mfa_amr_claims')}`.execute(db)
  },
  inPlace: {
    async up(db: Kysely<unknown>) {
      await sql`ALTER TABLE ${names.id('mfa_amr_claims')} ADD COLUMN credential_since timestamptz`.execute(db)
    },
    async down(db: Kysely<unknown>) {
      await sql`ALTER TABLE ${names.id('mfa_amr_claims')} DROP COLUMN credential_since`.execute(db)
    },
  },
})
