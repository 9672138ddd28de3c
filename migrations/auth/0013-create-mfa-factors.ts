import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Second factors. A user record lists them, and a session without one may be short-lived (SESSIONS_ALLOW_LOW_AAL), so
// they are read on every refresh even before anybody can enrol one.
export const createMfaFactors: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('mfa_factors')} (
        id uuid CONSTRAINT ${names.local('mfa_factors_pkey')} PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id uuid NOT NULL,
        friendly_name text,
        factor_type text NOT NULL,
        status text NOT NULL DEFAULT 'unverified',
        secret jsonb,
        phone text,
        last_used_step bigint,
        web_authn_credential jsonb,
        last_challenged_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT ${names.local('mfa_factors_user_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('mfa_factors_type')}
          CHECK (factor_type IN ('totp', 'phone', 'webauthn', 'recovery_code')),
        CONSTRAINT ${names.local('mfa_factors_status')} CHECK (status IN ('unverified', 'verified'))
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`CREATE INDEX ${names.local('mfa_factors_user_id_idx')} ON ${names.id('mfa_factors')} (user_id)`.execute(
      db,
    )
    await sql`
      CREATE UNIQUE INDEX ${names.local('mfa_factors_name_key')} ON ${names.id('mfa_factors')} (user_id, friendly_name)
      WHERE trim(friendly_name) <> ''`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('mfa_factors')}`.execute(db)
  },
})
