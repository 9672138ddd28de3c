// The state of a sign-in with several requests: the PKCE code challenge and the issued code, and for external providers the page
// from which the user came and the provider's own secrets (encrypted). Rows live for minutes.
//
// - `claimed_at`: a provider's answer is used once. The request that handles it marks the row, so that no lock is held while the
//   service calls the provider.
// - `linking_session_id`: a flow that links an identity to an account belongs to the session that began it, and ends with it. A
//   signed-out user must not be able to add a way to sign in again.
// - `linking_aal`: the assurance level of the token that began the linking, because the flow returns without the token. `aal1`
//   must not change the address of a user with a second factor, whatever level the session has by then. NULL counts as `aal1`.
// - `linked_account`: if PKCE is required, the exchange of the code links the identity, because only the client that began the
//   flow has the verifier. An attacker may have directed another browser to the provider. The account of that browser would
//   become a way into the attacker's account. The provider's account waits here until the exchange.
// - `is_sso_user`: whether the user was an SSO user when the auth code was issued. An earlier code is refused: an SSO user who
//   leaves the company must find no other way in.
// - `credential_since`: since when the credential of this sign-in belongs to the account; see `mfa_amr_claims`.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createFlowState: MigrationSource = (names) => ({
  replaces: ['flow_state'],
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await createIndexes(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('flow_state')}`.execute(db)
  },
})

async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
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
      credential_since timestamptz,
      redirect_to text,
      invite_token_hash bytea,
      linking_target_id uuid,
      linking_session_id uuid,
      linking_aal text,
      linked_account jsonb,
      is_sso_user boolean NOT NULL DEFAULT false,
      provider_pkce_verifier jsonb,
      oauth1_secret jsonb,
      provider_access_token jsonb,
      provider_refresh_token jsonb,
      email_optional boolean NOT NULL DEFAULT false,
      claimed_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT ${names.local('flow_state_user_fkey')}
        FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
      CONSTRAINT ${names.local('flow_state_session_fkey')}
        FOREIGN KEY (linking_session_id) REFERENCES ${names.id('sessions')} (id) ON DELETE CASCADE,
      CONSTRAINT ${names.local('flow_state_method')} CHECK (code_challenge_method IN ('s256', 'plain'))
    )`.execute(db)
}

async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  const flows = names.id('flow_state')
  await sql`CREATE INDEX ${names.local('flow_state_code_idx')} ON ${flows} (auth_code_hash)`.execute(db)
  await sql`CREATE INDEX ${names.local('flow_state_user_idx')} ON ${flows} (user_id, authentication_method)`.execute(db)
  await sql`CREATE INDEX ${names.local('flow_state_created_idx')} ON ${flows} (created_at)`.execute(db)
  await sql`
    CREATE INDEX ${names.local('flow_state_session_idx')} ON ${flows} (linking_session_id)
    WHERE linking_session_id IS NOT NULL`.execute(db)
  await sql`
    CREATE INDEX ${names.local('flow_state_target_idx')} ON ${flows} (linking_target_id)
    WHERE linking_target_id IS NOT NULL`.execute(db)
}
