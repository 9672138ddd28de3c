import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// How the user of a session has proven who they are, and when last: the `amr` claim of the session's access tokens.
//
// `credential_since` says since when the credential of the proof belongs to the account. Whoever has stolen a session can add a
// credential of their own and sign in by it: the new session looks fresh. So a new password counts only proofs by credentials
// that are old enough. NULL: since the account was made.
export const createAmrClaims: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('mfa_amr_claims')} (
        id uuid CONSTRAINT ${names.local('mfa_amr_claims_pkey')} PRIMARY KEY DEFAULT ${names.id('uuid_v7')}(),
        session_id uuid NOT NULL,
        authentication_method text NOT NULL,
        credential_since timestamptz,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT ${names.local('mfa_amr_claims_session_fkey')}
          FOREIGN KEY (session_id) REFERENCES ${names.id('sessions')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('mfa_amr_claims_method_key')} UNIQUE (session_id, authentication_method)
      ) WITH (fillfactor = 80)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('mfa_amr_claims')}`.execute(db)
  },
})
