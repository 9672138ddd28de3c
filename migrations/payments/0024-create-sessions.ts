// A customer's payment goes through several requests. Its session remembers how far the payment came, and ends in one
// transaction.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createSessions: MigrationSource = (names) => ({
  tables: { payment_sessions: 'owned' },
  async up(db: Kysely<unknown>) {
    // `step`: the last step that was offered. `taken_step`: the latest step whose task was given out. A step
    // that nobody has taken is offered again, so two equal requests get the same step. `tds`: what the card
    // is enrolled in. `challenged`: when the customer was first asked. `outcome`: what the customer's bank
    // says. A session with an attempt is being paid. One with a transaction is over; then `status_code` tells
    // why it was refused.
    await sql`
      CREATE TABLE ${names.id('payment_sessions')} (${merchantRow(names, 'payment_sessions')},
        digest bytea NOT NULL,
        expires timestamptz(3) NOT NULL,
        step text NOT NULL,
        taken_step text,
        tds jsonb,
        challenged timestamptz(3),
        outcome text,
        origin text,
        return_url text,
        attempt_id text COLLATE "C",
        transaction_id text COLLATE "C",
        status_code text,
        CONSTRAINT ${names.local('payment_sessions_digest_ck')} CHECK (octet_length(digest) = 32),
        CONSTRAINT ${names.local('payment_sessions_step_ck')} CHECK (step IN (
          'card-lookup', 'device-fingerprint', 'tds-fingerprint', 'tds-challenge'
        )),
        CONSTRAINT ${names.local('payment_sessions_outcome_ck')} CHECK (outcome IN (
          'authenticated', 'attempted', 'unavailable', 'rejected'
        ))
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('payment_sessions_expires_ix')} ON ${names.id('payment_sessions')}
        (expires, merchant_id)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('payment_sessions')}`.execute(db)
  },
})
