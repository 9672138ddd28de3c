// Functions that serve a request take the same values about it in one type: the caller, and the idempotency key with its scope,
// if given.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createCaller: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TYPE ${names.id('caller')} AS (
        key_mac bytea, user_email text, method text, path text, key text, fingerprint bytea
      )`.execute(db)
    await sql`
      COMMENT ON COLUMN ${names.id('caller')}.user_email IS 'verified email address, where no key was given'`.execute(
      db,
    )
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TYPE ${names.id('caller')}`.execute(db)
  },
})
