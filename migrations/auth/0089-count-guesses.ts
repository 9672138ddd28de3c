import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// How often codes were guessed, for longer than a code lives: a new message gives ten new guesses, and a new step of an
// authenticator app a new code, so patience alone would win. `code_guesses` counts those at the codes of an address in a day,
// by a keyed hash as in `send_throttle`; `failures` of a factor those since its owner last showed it.
export const countGuesses: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('code_guesses')} (
        key_hash bytea CONSTRAINT ${names.local('code_guesses_pkey')} PRIMARY KEY,
        guesses integer NOT NULL,
        since timestamptz NOT NULL
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('code_guesses_since_idx')} ON ${names.id('code_guesses')} (since)`.execute(db)
    await sql`
      ALTER TABLE ${names.id('mfa_factors')}
        ADD COLUMN failures integer NOT NULL DEFAULT 0, ADD COLUMN failed_at timestamptz`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('mfa_factors')} DROP COLUMN failures, DROP COLUMN failed_at`.execute(db)
    await sql`DROP TABLE ${names.id('code_guesses')}`.execute(db)
  },
})
