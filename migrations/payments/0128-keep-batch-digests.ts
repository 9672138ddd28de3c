// Why: what a batch told the bank was read from rows that somebody may have changed since, and written for the bank again.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const keepBatchDigests: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('payout_batches')} ADD COLUMN digest bytea`.execute(db)
    await sql`
      COMMENT ON COLUMN ${names.id('payout_batches')}.digest IS
        'SHA-256 of what the files say; null of batches that were exported before it was kept'`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('payout_batches')} DROP COLUMN digest`.execute(db)
  },
})
