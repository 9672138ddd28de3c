import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// When a message of a kind was last asked for, by a keyed hash of the address: known and unknown addresses alike, so
// that the answer to "may I send again" tells nothing about who has an account.
export const createSendThrottle: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('send_throttle')} (
        key_hash bytea NOT NULL,
        kind text NOT NULL,
        sent_at timestamptz NOT NULL,
        CONSTRAINT ${names.local('send_throttle_pkey')} PRIMARY KEY (key_hash, kind),
        CONSTRAINT ${names.local('send_throttle_kind')} CHECK (kind IN ('confirmation', 'recovery', 'email_change',
          'reauthentication', 'sms'))
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`
      CREATE INDEX ${names.local('send_throttle_sent_at_idx')} ON ${names.id('send_throttle')} (sent_at)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('send_throttle')}`.execute(db)
  },
})
