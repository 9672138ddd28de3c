// An acquirer's report that the service cannot apply waits for an operator, because it may concern money. `reserved` is the
// amount that payouts hold back meanwhile, in the merchant's currency, because a dispute of an unknown transaction may take it.
// It is NULL if the amount has no rate. Then the whole balance is held back.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createAcquirerExceptions: MigrationSource = (names) => ({
  tables: { acquirer_exceptions: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('acquirer_exceptions')} (${merchantRow(names, 'acquirer_exceptions')},
        payload jsonb NOT NULL,
        resolved timestamptz(3),
        reserved bigint DEFAULT 0,
        CONSTRAINT ${names.local('exceptions_reserved_ck')} CHECK (reserved >= 0)
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('acquirer_exceptions')}`.execute(db)
  },
})
