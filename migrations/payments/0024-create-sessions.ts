// A customer's payment takes several requests. Its session stores the progress of the payment, and ends in one transaction.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createSessions: MigrationSource = (names) => ({
  tables: { payment_sessions: 'owned' },
  async up(db: Kysely<unknown>) {
    // `step`: the last offered step. `taken_step`: the latest step whose task was given out. A step that was not taken is offered
    // again, so two equal requests get the same step. `tds`: the enrolment of the card. `challenged`: when the customer was first
    // challenged. `outcome`: the answer of the customer's bank. A session with an attempt is being paid. A session with a
    // transaction is over; `status_code` is then the reason of a refusal.
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
