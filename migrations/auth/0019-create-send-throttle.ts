// The time of the last request for a message of a kind, by a keyed hash of the address. Known and unknown addresses both have
// rows, so that the interval between messages does not reveal who has an account. `mfa_sms` counts by phone, so that enrolling
// the phone again as a second factor does not restart its interval.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createSendThrottle: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('send_throttle')} (
        key_hash bytea NOT NULL,
        kind text NOT NULL,
        sent_at timestamptz NOT NULL,
        CONSTRAINT ${names.local('send_throttle_pkey')} PRIMARY KEY (key_hash, kind),
        CONSTRAINT ${names.local('send_throttle_kind')} CHECK (kind IN ('confirmation', 'recovery', 'email_change',
          'reauthentication', 'sms', 'mfa_sms'))
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`
      CREATE INDEX ${names.local('send_throttle_sent_at_idx')} ON ${names.id('send_throttle')} (sent_at)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('send_throttle')}`.execute(db)
  },
})
