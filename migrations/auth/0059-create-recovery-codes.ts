import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Codes for who has lost every other second factor: a set hangs below a factor of its own, of which a user has one. Guesses
// are counted in the factor's row, before they are compared, so that no number of processes lets more of them through.
export const createRecoveryCodes: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('mfa_recovery_codes')} (
        id uuid CONSTRAINT ${names.local('mfa_recovery_codes_pkey')} PRIMARY KEY DEFAULT ${names.id('uuid_v7')}(),
        factor_id uuid NOT NULL,
        code_hash bytea NOT NULL,
        used_at timestamptz,
        CONSTRAINT ${names.local('mfa_recovery_codes_factor_fkey')}
          FOREIGN KEY (factor_id) REFERENCES ${names.id('mfa_factors')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('mfa_recovery_codes_hash_key')} UNIQUE (factor_id, code_hash)
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`
      ALTER TABLE ${names.id('mfa_factors')}
        ADD COLUMN failed_attempts integer NOT NULL DEFAULT 0, ADD COLUMN failing_since timestamptz`.execute(db)
    await sql`
      CREATE UNIQUE INDEX ${names.local('mfa_factors_recovery_key')} ON ${names.id('mfa_factors')} (user_id)
      WHERE factor_type = 'recovery_code'`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('mfa_recovery_codes')}`.execute(db)
    await sql`DROP INDEX ${names.id('mfa_factors_recovery_key')}`.execute(db)
    await sql`
      ALTER TABLE ${names.id('mfa_factors')} DROP COLUMN failed_attempts, DROP COLUMN failing_since`.execute(db)
  },
})
