import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Passkeys, and the challenges of their ceremonies: a row of those is deleted by the request that answers it. The public key of
// a passkey is no secret. Nothing that a sign-in updates is indexed.
export const createPasskeys: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('webauthn_credentials')} (
        id uuid CONSTRAINT ${names.local('webauthn_credentials_pkey')} PRIMARY KEY DEFAULT ${names.id('uuid_v7')}(),
        user_id uuid NOT NULL,
        credential_id text COLLATE "C" NOT NULL,
        public_key text NOT NULL,
        sign_count bigint NOT NULL,
        transports jsonb NOT NULL,
        friendly_name text NOT NULL,
        last_used_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT ${names.local('webauthn_credentials_user_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('webauthn_credential_id_key')} UNIQUE (credential_id)
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`
      CREATE INDEX ${names.local('webauthn_credentials_user_idx')} ON ${names.id('webauthn_credentials')} (user_id)`.execute(
      db,
    )
    await sql`
      CREATE TABLE ${names.id('webauthn_challenges')} (
        id uuid CONSTRAINT ${names.local('webauthn_challenges_pkey')} PRIMARY KEY,
        user_id uuid,
        challenge text NOT NULL,
        expires_at timestamptz NOT NULL,
        CONSTRAINT ${names.local('webauthn_challenges_user_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('webauthn_challenges_user_idx')} ON ${names.id('webauthn_challenges')} (user_id)
      WHERE user_id IS NOT NULL`.execute(db)
    await sql`
      CREATE INDEX ${names.local('webauthn_challenges_end_idx')} ON ${names.id('webauthn_challenges')} (expires_at)`.execute(
      db,
    )
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('webauthn_challenges')}`.execute(db)
    await sql`DROP TABLE ${names.id('webauthn_credentials')}`.execute(db)
  },
})
