import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// What a sign-in that spans several requests must remember: the PKCE challenge and the code issued against it, and for
// external providers where the user came from and the provider's own secrets (sealed). Rows live minutes.
export const createFlowState: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('flow_state')} (
        id uuid CONSTRAINT ${names.local('flow_state_pkey')} PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id uuid,
        provider_type text NOT NULL,
        authentication_method text NOT NULL,
        code_challenge text,
        code_challenge_method text,
        auth_code_hash bytea,
        auth_code_issued_at timestamptz,
        referrer text,
        invite_token_hash bytea,
        linking_target_id uuid,
        provider_pkce_verifier jsonb,
        oauth1_secret jsonb,
        provider_access_token jsonb,
        provider_refresh_token jsonb,
        email_optional boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT ${names.local('flow_state_user_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('flow_state_method')} CHECK (code_challenge_method IN ('s256', 'plain'))
      )`.execute(db)
    await sql`CREATE INDEX ${names.local('flow_state_code_idx')} ON ${names.id('flow_state')} (auth_code_hash)`.execute(
      db,
    )
    await sql`
      CREATE INDEX ${names.local('flow_state_user_idx')} ON ${names.id('flow_state')} (user_id, authentication_method)`.execute(
      db,
    )
    await sql`CREATE INDEX ${names.local('flow_state_created_idx')} ON ${names.id('flow_state')} (created_at)`.execute(
      db,
    )
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('flow_state')}`.execute(db)
  },
})
