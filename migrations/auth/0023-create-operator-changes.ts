// An operator may send a change twice, by a double click or after a lost connection. The change must have its effect once, and
// the second request gets the answer of the first. The row is written in the transaction of the change, so no change lacks a row.
// The answer is encrypted, because it may contain a sign-in link, and it names users.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createOperatorChanges: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('operator_changes')} (
        id uuid NOT NULL CONSTRAINT ${names.local('operator_changes_id_key')} UNIQUE,
        actor_id uuid NOT NULL,
        key text COLLATE "C" NOT NULL,
        fingerprint bytea NOT NULL,
        status smallint,
        sealed_body jsonb,
        created_at timestamptz NOT NULL,
        CONSTRAINT ${names.local('operator_changes_pkey')} PRIMARY KEY (actor_id, key)
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('operator_changes_created_idx')} ON ${names.id('operator_changes')} (created_at)`.execute(
      db,
    )
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('operator_changes')}`.execute(db)
  },
})
