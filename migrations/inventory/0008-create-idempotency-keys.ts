// Idempotency keys: a client that repeats a request with its key must find the first effect or wait for it, and never cause a
// second one. A key is claimed in the transaction of the effect, so a refused request does not store its key either.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createIdempotencyKeys: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`CREATE TABLE ${names.id('idempotency_keys')} (
      subject text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      path text NOT NULL,
      request_hash bytea NOT NULL,
      status integer,
      headers json,
      body json,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT ${names.local('idempotency_keys_pkey')} PRIMARY KEY (subject, key),
      CONSTRAINT ${names.local('idempotency_keys_key_check')} CHECK (length(key) BETWEEN 1 AND 255),
      CONSTRAINT ${names.local('idempotency_keys_hash_check')} CHECK (octet_length(request_hash) = 32)
    )`.execute(db)
    await sql`CREATE INDEX ${names.local('idempotency_keys_created_idx')}
      ON ${names.id('idempotency_keys')} (created_at)`.execute(db)
    // The caller, NULL without authentication. The idempotency key with path and content, NULL without a key.
    await sql`CREATE TYPE ${names.id('caller')} AS (actor text, key text, path text, request_hash bytea)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TYPE ${names.id('caller')}`.execute(db)
    await sql`DROP TABLE ${names.id('idempotency_keys')}`.execute(db)
  },
})
