import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Second factors. Every refresh reads them: a user record lists them, and SESSIONS_ALLOW_LOW_AAL may limit a session that has
// not shown one.
//
// Guesses are counted in the row before they are compared, so that no number of processes lets more of them through.
// - `failed_attempts`, `failing_since`: guesses at recovery codes within a window.
// - `failures`, `failed_at`: guesses since the owner last showed the factor. Each step of an authenticator app has a new code,
//   so patience alone would win against a count per code.
export const createMfaFactors: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    const factors = names.id('mfa_factors')
    await sql`
      CREATE TABLE ${factors} (
        id uuid CONSTRAINT ${names.local('mfa_factors_pkey')} PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id uuid NOT NULL,
        friendly_name text,
        factor_type text NOT NULL,
        status text NOT NULL DEFAULT 'unverified',
        secret jsonb,
        phone text,
        web_authn_credential jsonb,
        last_used_step bigint,
        last_challenged_at timestamptz,
        failed_attempts integer NOT NULL DEFAULT 0,
        failing_since timestamptz,
        failures integer NOT NULL DEFAULT 0,
        failed_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT ${names.local('mfa_factors_user_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('mfa_factors_type')}
          CHECK (factor_type IN ('totp', 'phone', 'webauthn', 'recovery_code')),
        CONSTRAINT ${names.local('mfa_factors_status')} CHECK (status IN ('unverified', 'verified'))
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`CREATE INDEX ${names.local('mfa_factors_user_id_idx')} ON ${factors} (user_id)`.execute(db)
    await sql`
      CREATE UNIQUE INDEX ${names.local('mfa_factors_name_key')} ON ${factors} (user_id, friendly_name)
      WHERE trim(friendly_name) <> ''`.execute(db)
    // A user has one set of recovery codes.
    await sql`
      CREATE UNIQUE INDEX ${names.local('mfa_factors_recovery_key')} ON ${factors} (user_id)
      WHERE factor_type = 'recovery_code'`.execute(db)
    // Clean-up deletes some rows at a time, again and again. These rows are always the first of this index.
    await sql`
      CREATE INDEX ${names.local('mfa_factors_unverified_idx')} ON ${factors} (created_at)
      WHERE status = 'unverified'`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('mfa_factors')}`.execute(db)
  },
})
