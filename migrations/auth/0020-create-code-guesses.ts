// The number of attempts at the codes of an address in a day, by a keyed hash as in `send_throttle`. The count outlives a code:
// each new message allows ten more attempts, so a count per code would not stop a patient attacker.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createCodeGuesses: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('code_guesses')} (
        key_hash bytea CONSTRAINT ${names.local('code_guesses_pkey')} PRIMARY KEY,
        guesses integer NOT NULL,
        since timestamptz NOT NULL
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('code_guesses_since_idx')} ON ${names.id('code_guesses')} (since)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('code_guesses')}`.execute(db)
  },
})
