// A client that repeats a request with its Idempotency-Key must find the first effect, or wait for it, and never make a
// second one.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createIdempotency: MigrationSource = (names) => ({
  tables: { idempotency: 'owned', merchant_creations: 'local' },
  async up(db: Kysely<unknown>) {
    await createAnswers(db, names)
    await createCreations(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('merchant_creations')}, ${names.id('idempotency')}`.execute(db)
  },
})

/**
 * An answer is rendered again from its object. Only an answer whose object changes in other ways is stored in `body`. The amounts
 * are those of a transaction at that time. With the length of its trail, which only grows, the transaction can be shown as it was
 * then.
 *
 * `run_operations` writes these rows in column order, which must not change.
 */
async function createAnswers(db: Kysely<unknown>, names: Names): Promise<void> {
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
      object_id text COLLATE "C",
      pending bigint,
      captured bigint,
      refunded bigint,
      voided bigint,
      disputed bigint,
      trail_length integer,
      body text,
      created timestamptz(3) NOT NULL,
      CONSTRAINT ${names.local('idempotency_pk')} PRIMARY KEY (merchant_id, identity_id, method, path, key),
      CONSTRAINT ${names.local('idempotency_fingerprint_ck')} CHECK (octet_length(fingerprint) = 32)
    )`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('idempotency')}.status IS 'null while an acquirer is asked'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('idempotency_created_ix')} ON ${names.id('idempotency')} (created, merchant_id)
  `.execute(db)
}

/** The merchant created with a key is not known beforehand, so these rows belong to no merchant. */
async function createCreations(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('merchant_creations')} (
      identity_id text COLLATE "C" NOT NULL,
      key text NOT NULL,
      fingerprint bytea NOT NULL,
      status smallint,
      body jsonb,
      created timestamptz(3) NOT NULL,
      CONSTRAINT ${names.local('merchant_creations_pk')} PRIMARY KEY (identity_id, key),
      CONSTRAINT ${names.local('creations_fingerprint_ck')} CHECK (octet_length(fingerprint) = 32)
    )`.execute(db)
  await sql`
    COMMENT ON COLUMN ${names.id('merchant_creations')}.body IS 'the row of the merchant as it was'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('merchant_creations_created_ix')} ON ${names.id('merchant_creations')} (created)
  `.execute(db)
}
