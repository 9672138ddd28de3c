import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Codes for users who have lost every other second factor. A set of codes belongs to a factor of its own.
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
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('mfa_recovery_codes')}`.execute(db)
  },
})
