// An operator may send a change twice, by a double click or after a lost connection. The change must have its effect once, and
// the second request gets the answer of the first. The row is written in the transaction of the change, so there is no change
// without a row. Only functions of operators write here: a role that could change a row could show an operator an answer that
// was never given.
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
