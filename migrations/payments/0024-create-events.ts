// Why: what others are told, and what remains to be done, is written with its cause, so that neither exists without the other.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

/**
 * Amounts of a transaction at one moment. With the length of its trail, which only grows, the transaction can be shown as
 * it was then; no copy of it is kept.
 */
const moment = sql`
        object_id text COLLATE "C",
        pending bigint,
        captured bigint,
        refunded bigint,
        voided bigint,
        disputed bigint,
        trail_length integer`

export const createEvents: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('events')} (${merchantRow(names, 'events')},
        type text NOT NULL,
        version smallint NOT NULL DEFAULT 1,
        ${moment},
        data jsonb
      )`.execute(db)
    await sql`COMMENT ON COLUMN ${names.id('events')}.data IS 'the object, where it cannot be shown as it was from its row'`.execute(
      db,
    )
    await sql`
      CREATE TABLE ${names.id('webhooks')} (${merchantRow(names, 'webhooks')},
        url text NOT NULL,
        events text[] NOT NULL,
        secret_sealed bytea NOT NULL,
        previous_sealed bytea,
        previous_until timestamptz(3),
        disabled timestamptz(3)
      )`.execute(db)
    await sql`
      CREATE TABLE ${names.id('outbox')} (${merchantRow(names, 'outbox')},
        kind text NOT NULL,
        payload jsonb NOT NULL
      )`.execute(db)
    // The answer is rendered again from its object; only answers whose object changes otherwise keep their bytes in `body`.
    await sql`
      CREATE TABLE ${names.id('idempotency')} (
        merchant_id text COLLATE "C" NOT NULL,
        identity_id text COLLATE "C" NOT NULL,
        method text NOT NULL,
        path text NOT NULL,
        key text NOT NULL,
        fingerprint bytea NOT NULL,
        status smallint,
        error_code integer,
        ${moment},
        body text,
        created timestamptz(3) NOT NULL,
        CONSTRAINT ${names.local('idempotency_pk')} PRIMARY KEY (merchant_id, identity_id, method, path, key),
        CONSTRAINT ${names.local('idempotency_fingerprint_ck')} CHECK (octet_length(fingerprint) = 32)
      )`.execute(db)
    await sql`COMMENT ON COLUMN ${names.id('idempotency')}.status IS 'null while an acquirer is asked'`.execute(db)
    await sql`
      CREATE INDEX ${names.local('idempotency_created_ix')} ON ${names.id('idempotency')} (created, merchant_id)`.execute(
      db,
    )
  },
  async down(db: Kysely<unknown>) {
    const tables = ['idempotency', 'outbox', 'webhooks', 'events'].map(names.id)
    await sql`DROP TABLE ${sql.join(tables)}`.execute(db)
  },
})
