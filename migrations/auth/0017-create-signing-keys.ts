// The keys of access tokens. A `next` key is published and waits, the `active` key signs, a `retired` key verifies until
// `retire_at`. The service encrypts the private parts, so the database is not enough to forge a token.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createSigningKeys: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('signing_keys')} (
        kid text CONSTRAINT ${names.local('signing_keys_pkey')} PRIMARY KEY,
        alg text NOT NULL,
        state text NOT NULL,
        private_sealed jsonb NOT NULL,
        public_jwk jsonb,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        retire_at timestamptz,
        CONSTRAINT ${names.local('signing_keys_state')} CHECK (state IN ('next', 'active', 'retired'))
      )`.execute(db)
    await sql`
      CREATE UNIQUE INDEX ${names.local('signing_keys_active_key')} ON ${names.id('signing_keys')} (state)
      WHERE state = 'active'`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('signing_keys')}`.execute(db)
  },
})
