// How and when the user of a session last authenticated: the `amr` claim of the session's access tokens.
//
// The table equals the table of supabase/auth, column by column, except one own column: `credential_since` is the time from which
// the credential belongs to the account. The thief of a session can add a credential and sign in with it, and the new session
// looks fresh. So a new password accepts only proofs by credentials that are old enough. NULL means since the creation of the
// account. See the table of users.
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
