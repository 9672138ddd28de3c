// An operator may send a change twice, after a double click or a lost connection. The change must have its effect only once, and
// the second request gets the first answer. The transaction of the change writes the row, so no change lacks one. Only functions
// for operators write here. A role that could change a row could forge an answer for an operator.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createOperatorChanges: MigrationSource = (names) => ({
  tables: { operator_changes: 'claim' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('operator_changes')} (
        actor_id text COLLATE "C" NOT NULL,
        key text COLLATE "C" NOT NULL,
        fingerprint bytea NOT NULL,
        status smallint,
        body text,
        created timestamptz(3) NOT NULL,
        CONSTRAINT ${names.local('operator_changes_pk')} PRIMARY KEY (actor_id, key),
        CONSTRAINT ${names.local('operator_changes_print_ck')} CHECK (octet_length(fingerprint) = 32)
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('operator_changes_created_ix')} ON ${names.id('operator_changes')} (created)`.execute(
      db,
    )
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('operator_changes')}`.execute(db)
  },
})
