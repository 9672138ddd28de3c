// An event is the content of a webhook call to a merchant. It is written with its cause, so that neither exists alone.
//
// `post` writes these rows in column order, which must not change.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createEvents: MigrationSource = (names) => ({
  tables: { events: 'owned' },
  async up(db: Kysely<unknown>) {
    // The amounts of a transaction at that time. With the length of its trail, which only grows, the transaction can be shown as
    // it was then, without a stored copy.
    await sql`
      CREATE TABLE ${names.id('events')} (${merchantRow(names, 'events')},
        type text NOT NULL,
        version smallint NOT NULL DEFAULT 1,
        object_id text COLLATE "C",
        pending bigint,
        captured bigint,
        refunded bigint,
        voided bigint,
        disputed bigint,
        trail_length integer,
        data jsonb
      )`.execute(db)
    await sql`
      COMMENT ON COLUMN ${names.id('events')}.data IS 'the object, where it cannot be shown as it was from its row'
    `.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('events')}`.execute(db)
  },
})
