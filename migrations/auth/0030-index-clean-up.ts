import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Clean-up takes a hundred rows at a time, again and again: each time they must be the first of an index. One-time tokens
// do not expire in the order of their ids (a code by SMS lives a minute, a link a day), nor do factors that nobody verified
// lie together.
export const indexCleanUp: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE INDEX ${names.local('one_time_tokens_expires_idx')} ON ${names.id('one_time_tokens')} (expires_at)`.execute(
      db,
    )
    await sql`
      CREATE INDEX ${names.local('mfa_factors_unverified_idx')} ON ${names.id('mfa_factors')} (created_at)
      WHERE status = 'unverified'`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP INDEX ${names.id('one_time_tokens_expires_idx')}, ${names.id('mfa_factors_unverified_idx')}`.execute(
      db,
    )
  },
})
