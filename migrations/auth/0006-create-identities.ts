// A way to sign in: the user's email or phone, or an account at an external provider. `provider_id` is the subject at the
// provider, or the user's id for email and phone.
//
// The table equals the table of supabase/auth, column by column; see the table of users.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createIdentities: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('identities')} (
        provider_id text NOT NULL,
        user_id uuid NOT NULL,
        identity_data jsonb NOT NULL,
        provider text NOT NULL,
        last_sign_in_at timestamptz,
        created_at timestamptz,
        updated_at timestamptz,
        email text GENERATED ALWAYS AS (lower(identity_data ->> 'email')) STORED,
        id uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT ${names.local('identities_pkey')} PRIMARY KEY,
        CONSTRAINT ${names.local('identities_provider_id_provider_unique')} UNIQUE (provider_id, provider),
        CONSTRAINT ${names.local('identities_user_id_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`CREATE INDEX ${names.local('identities_user_id_idx')} ON ${names.id('identities')} (user_id)`.execute(db)
    await sql`CREATE INDEX ${names.local('identities_email_idx')} ON ${names.id('identities')} (email text_pattern_ops)`.execute(
      db,
    )
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('identities')}`.execute(db)
  },
  inPlace: {
    up: async () => {},
    down: async () => {},
  },
})
