import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// A way to sign in: the user's own email or phone, or an account at an external provider. `provider_id` is the subject at the
// provider; for email and phone it is the user's id.
export const createIdentities: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('identities')} (
        id uuid CONSTRAINT ${names.local('identities_pkey')} PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id uuid NOT NULL,
        provider text NOT NULL,
        provider_id text NOT NULL,
        identity_data jsonb NOT NULL,
        email text COLLATE "C" GENERATED ALWAYS AS (lower(identity_data ->> 'email')) STORED,
        last_sign_in_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT ${names.local('identities_user_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('identities_provider_key')} UNIQUE (provider, provider_id)
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`CREATE INDEX ${names.local('identities_user_id_idx')} ON ${names.id('identities')} (user_id)`.execute(db)
    await sql`CREATE INDEX ${names.local('identities_email_idx')} ON ${names.id('identities')} (email)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('identities')}`.execute(db)
  },
})
