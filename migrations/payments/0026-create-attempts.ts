// A call to an acquirer is written down before it is made, so a crash leaves no outcome unknown for good. A report of an acquirer
// that the service cannot apply waits for an operator.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createAttempts: MigrationSource = (names) => ({
  tables: { acquirer_exceptions: 'owned', attempts: 'owned' },
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await sql`
      CREATE TABLE ${names.id('acquirer_exceptions')} (${merchantRow(names, 'acquirer_exceptions')},
        payload jsonb NOT NULL,
        resolved timestamptz(3)
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('acquirer_exceptions')}, ${names.id('attempts')}`.execute(db)
  },
})

async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('attempts')} (${merchantRow(names, 'attempts')},
      kind text NOT NULL,
      state text NOT NULL DEFAULT 'sent',
      request jsonb NOT NULL,
      CONSTRAINT ${names.local('attempts_state_ck')} CHECK (state IN (
        'sent', 'approved', 'declined', 'unknown', 'reversed'
      ))
    )`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('attempts')}.request IS 'never card data'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('attempts_unsettled_ix')} ON ${names.id('attempts')} (merchant_id, id)
      WHERE state IN ('sent', 'unknown')`.execute(db)
}
