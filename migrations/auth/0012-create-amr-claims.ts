import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// How the person behind a session has proven who they are, and when last: the `amr` claim of its access tokens.
export const createAmrClaims: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('mfa_amr_claims')} (
        id uuid CONSTRAINT ${names.local('mfa_amr_claims_pkey')} PRIMARY KEY DEFAULT ${names.id('uuid_v7')}(),
        session_id uuid NOT NULL,
        authentication_method text NOT NULL,
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
