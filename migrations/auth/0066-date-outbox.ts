import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// What the queue does not take stays in the outbox. For how long it has, somebody must be able to see.
export const dateOutbox: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('outbox')} ADD COLUMN created_at timestamptz NOT NULL DEFAULT now()`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('outbox')} DROP COLUMN created_at`.execute(db)
  },
})
