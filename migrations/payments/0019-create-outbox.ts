// Remaining work is written in the transaction of its cause, so that neither exists without the other. A process moves it from
// here to the job queue.
//
// `post` writes these rows in column order, which must not change.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createOutbox: MigrationSource = (names) => ({
  tables: { outbox: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('outbox')} (${merchantRow(names, 'outbox')},
        kind text NOT NULL,
        payload jsonb NOT NULL
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('outbox')}`.execute(db)
  },
})
