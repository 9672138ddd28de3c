import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Jobs whose cause is one call of a function: the function writes them here, in its own transaction, and the service moves
// them to the queue after the commit. Nothing waits for a lock of the queue, and no NOTIFY stands in a hot function.
export const createOutbox: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('outbox')} (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT ${names.local('outbox_pkey')} PRIMARY KEY,
        task text NOT NULL,
        data jsonb NOT NULL
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('outbox')}`.execute(db)
  },
})
