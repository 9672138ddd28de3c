// A webhook is an address to which a merchant's events are sent. The secrets that sign them are encrypted, so a reader of the
// database cannot sign. The previous secret stays valid for a while, so that a client can change over without a gap.
//
// The URL is stored as parsed, so its scheme is the one with which events are sent.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createWebhooks: MigrationSource = (names) => ({
  tables: { webhooks: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('webhooks')} (${merchantRow(names, 'webhooks')},
        url text NOT NULL,
        events text[] NOT NULL,
        secret_sealed bytea NOT NULL,
        previous_sealed bytea,
        previous_until timestamptz(3),
        disabled timestamptz(3),
        CONSTRAINT ${names.local('webhooks_url_ck')} CHECK (url ~ '^https?://')
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('webhooks')}`.execute(db)
  },
})
