// Why: each request for the next step of a payment moved its session on, so that of two equal requests the second was offered
// another step than the first, and the first could no longer be taken. A step that nobody has taken is offered again.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

/** `taken`: the latest step whose task was given out; NULL for none, also in sessions of the version before. */
export const noteTakenSteps: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('payment_sessions')} ADD COLUMN taken text`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('payment_sessions')} DROP COLUMN taken`.execute(db)
  },
})
