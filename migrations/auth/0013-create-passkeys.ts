// Passkeys, and the challenges of their ceremonies. The request that answers a challenge deletes its row. The public key of a
// passkey is not secret. A sign-in updates no indexed column.
//
// `session_id` is the session that registered the passkey, or that requested the challenge of a registration. The challenge ends
// with its session. The passkey does not, so it has no foreign key. NULL for a passkey registered by supabase/auth.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createPasskeys: MigrationSource = (names) => ({
  replaces: ['webauthn_credentials', 'webauthn_challenges'],
  async up(db: Kysely<unknown>) {
    await createCredentials(db, names)
    await createChallenges(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('webauthn_challenges')}`.execute(db)
    await sql`DROP TABLE ${names.id('webauthn_credentials')}`.execute(db)
  },
})

async function createCredentials(db: Kysely<unknown>, names: Names): Promise<void> {
  const credentials = names.id('webauthn_credentials')
  await sql`
    CREATE TABLE ${credentials} (
      id uuid CONSTRAINT ${names.local('webauthn_credentials_pkey')} PRIMARY KEY DEFAULT ${names.id('uuid_v7')}(),
      user_id uuid NOT NULL,
      session_id uuid,
      credential_id text COLLATE "C" NOT NULL,
      public_key text NOT NULL,
      sign_count bigint NOT NULL,
      transports jsonb NOT NULL,
      backup_eligible boolean NOT NULL DEFAULT false,
      friendly_name text NOT NULL,
      last_used_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT ${names.local('webauthn_credentials_user_fkey')}
        FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
      CONSTRAINT ${names.local('webauthn_credential_id_key')} UNIQUE (credential_id)
    ) WITH (fillfactor = 80)`.execute(db)
  await sql`CREATE INDEX ${names.local('webauthn_credentials_user_idx')} ON ${credentials} (user_id)`.execute(db)
}

async function createChallenges(db: Kysely<unknown>, names: Names): Promise<void> {
  const challenges = names.id('webauthn_challenges')
  await sql`
    CREATE TABLE ${challenges} (
      id uuid CONSTRAINT ${names.local('webauthn_challenges_pkey')} PRIMARY KEY,
      user_id uuid,
      session_id uuid,
      challenge text NOT NULL,
      expires_at timestamptz NOT NULL,
      CONSTRAINT ${names.local('webauthn_challenges_user_fkey')}
        FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
      CONSTRAINT ${names.local('webauthn_challenges_sess_fkey')}
        FOREIGN KEY (session_id) REFERENCES ${names.id('sessions')} (id) ON DELETE CASCADE
    )`.execute(db)
  await sql`
    CREATE INDEX ${names.local('webauthn_challenges_sess_idx')} ON ${challenges} (session_id)
    WHERE session_id IS NOT NULL`.execute(db)
  await sql`
    CREATE INDEX ${names.local('webauthn_challenges_user_idx')} ON ${challenges} (user_id)
    WHERE user_id IS NOT NULL`.execute(db)
  await sql`CREATE INDEX ${names.local('webauthn_challenges_end_idx')} ON ${challenges} (expires_at)`.execute(db)
}
