// Providers that admins add at run time. `settings` is a document that the service checks: the requests to the provider, and how
// to read its responses. The client secret is encrypted. Identities name a provider by its identifier and remain without it.
// `deleted_providers` stores the issuer and the subject claim of a deleted provider, so that another issuer cannot get its
// identifier.
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
    await sql`
      CREATE TABLE ${names.id('deleted_providers')} (
        identifier text COLLATE "C" CONSTRAINT ${names.local('deleted_providers_pkey')} PRIMARY KEY,
        issuer text NOT NULL,
        subject_claim text NOT NULL
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('deleted_providers')}`.execute(db)
    await sql`DROP TABLE ${names.id('custom_oauth_providers')}`.execute(db)
  },
})
