// Jobs caused by a single function call. The function writes them here, in its own transaction, and the service moves them to the
// queue after the commit. So no hot function waits for a lock of the queue or sends a NOTIFY. Jobs that the queue refuses stay
// here, and `created_at` shows for how long.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createOutbox: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('outbox')} (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT ${names.local('outbox_pkey')} PRIMARY KEY,
        task text NOT NULL,
        data jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('outbox')}`.execute(db)
  },
})
