// Second factors. Every refresh reads them: a user record lists them, and SESSIONS_ALLOW_LOW_AAL may limit a session without one.
//
// The first part equals the table of supabase/auth, column by column; see the table of users. The service writes no `secret` and
// no `web_authn_credential`. It stores a factor in its own columns, the second part.
// - `sealed_secret`: the encrypted secret of an authenticator app.
// - `last_used_step`: the time step of the last accepted code. A code is accepted once.
// - `credential`: the key of a WebAuthn factor and its counter, once the factor is verified.
// - `proved_at`: when the factor was first used; NULL for one that another service has verified.
// - `guesses`, `guessed_at`: attempts since the owner last used the factor. Each step of an authenticator app has a new code, so
//   a count per code would not stop a patient attacker. The service counts an attempt before it compares the code, so that
//   parallel processes cannot exceed the limit.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/** The columns of the service, in addition to those of supabase/auth. */
const OWN_COLUMNS = [
  'sealed_secret jsonb',
  'last_used_step bigint',
  'credential jsonb',
  'proved_at timestamptz',
  'guesses integer NOT NULL DEFAULT 0',
  'guessed_at timestamptz',
] as const

export const createMfaFactors: MigrationSource = (names) => ({
  adds: { mfa_factors: OWN_COLUMNS },
  async up(db: Kysely<unknown>) {
    await sql`CREATE TYPE ${names.id('factor_type')} AS ENUM ('totp', 'webauthn', 'phone')`.execute(db)
    await sql`CREATE TYPE ${names.id('factor_status')} AS ENUM ('unverified', 'verified')`.execute(db)
    await createTable(db, names)
    await createIndexes(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('mfa_factors')}`.execute(db)
    await sql`DROP TYPE ${names.id('factor_status')}`.execute(db)
    await sql`DROP TYPE ${names.id('factor_type')}`.execute(db)
  },
  inPlace: {
    async up(db: Kysely<unknown>) {
      const columns = OWN_COLUMNS.map((column) => sql`ADD COLUMN ${sql.raw(column)}`)
      await sql`ALTER TABLE ${names.id('mfa_factors')} ${sql.join(columns)}`.execute(db)
      await createCleanUpIndex(db, names)
    },
    async down(db: Kysely<unknown>) {
      await sql`DROP INDEX ${names.id('mfa_factors_unverified_idx')}`.execute(db)
      const columns = OWN_COLUMNS.map((column) => sql`DROP COLUMN ${sql.id(column.split(' ')[0] ?? '')}`)
      await sql`ALTER TABLE ${names.id('mfa_factors')} ${sql.join(columns)}`.execute(db)
    },
  },
})

async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('mfa_factors')} (
      id uuid NOT NULL CONSTRAINT ${names.local('mfa_factors_pkey')} PRIMARY KEY,
      user_id uuid NOT NULL,
      friendly_name text,
      factor_type ${names.id('factor_type')} NOT NULL,
      status ${names.id('factor_status')} NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      secret text,
      phone text,
      last_challenged_at timestamptz,
      web_authn_credential jsonb,
      web_authn_aaguid uuid,
      last_webauthn_challenge_data jsonb,
      ${sql.raw(OWN_COLUMNS.join(', '))},
      CONSTRAINT ${names.local('mfa_factors_last_challenged_at_key')} UNIQUE (last_challenged_at),
      CONSTRAINT ${names.local('mfa_factors_user_id_fkey')}
        FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE
    ) WITH (fillfactor = 80)`.execute(db)
}

async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  const factors = names.id('mfa_factors')
  await sql`CREATE INDEX ${names.local('mfa_factors_user_id_idx')} ON ${factors} (user_id)`.execute(db)
  await sql`CREATE INDEX ${names.local('factor_id_created_at_idx')} ON ${factors} (user_id, created_at)`.execute(db)
  await sql`
    CREATE UNIQUE INDEX ${names.local('mfa_factors_user_friendly_name_unique')} ON ${factors} (friendly_name, user_id)
    WHERE trim(friendly_name) <> ''`.execute(db)
  await sql`
    CREATE UNIQUE INDEX ${names.local('unique_phone_factor_per_user')} ON ${factors} (user_id, phone)`.execute(db)
  await createCleanUpIndex(db, names)
}

/** Clean-up repeatedly deletes a few rows. They are always the first rows of this index. */
async function createCleanUpIndex(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE INDEX ${names.local('mfa_factors_unverified_idx')} ON ${names.id('mfa_factors')} (created_at)
    WHERE status = 'unverified'`.execute(db)
}
