// Providers that admins add while the service runs. `settings` is a document that the service checks: what to ask the provider,
// and how to read its answers. The client secret is sealed. Identities name a provider by its identifier, and outlive it.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createCustomProviders: MigrationSource = (names) => ({
  replaces: ['custom_oauth_providers'],
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('custom_oauth_providers')} (
        id uuid CONSTRAINT ${names.local('custom_providers_pkey')} PRIMARY KEY,
        identifier text COLLATE "C" NOT NULL,
        client_secret jsonb NOT NULL,
        settings jsonb NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT ${names.local('custom_providers_key')} UNIQUE (identifier)
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('custom_oauth_providers')}`.execute(db)
  },
})
