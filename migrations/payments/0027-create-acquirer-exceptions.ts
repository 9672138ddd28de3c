// A report of an acquirer that the service cannot apply waits for an operator, because it may be about money.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createAcquirerExceptions: MigrationSource = (names) => ({
  tables: { acquirer_exceptions: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('acquirer_exceptions')} (${merchantRow(names, 'acquirer_exceptions')},
        payload jsonb NOT NULL,
        resolved timestamptz(3)
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('acquirer_exceptions')}`.execute(db)
  },
})
