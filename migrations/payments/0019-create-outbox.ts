// Work that remains is written with its cause, so that neither exists without the other. A process takes it from here into
// the queue of jobs.
//
// `post` writes these rows in the order of their columns, which must not change.
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
