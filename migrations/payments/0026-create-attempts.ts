// A call to an acquirer is recorded before it is made. So its outcome can still be requested after a crash.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createAttempts: MigrationSource = (names) => ({
  tables: { attempts: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('attempts')} (${merchantRow(names, 'attempts')},
        kind text NOT NULL,
        state text NOT NULL DEFAULT 'sent',
        request jsonb NOT NULL,
        CONSTRAINT ${names.local('attempts_state_ck')} CHECK (state IN (
          'sent', 'approved', 'declined', 'unknown', 'reversed'
        )),
        CONSTRAINT ${names.local('attempts_amount_ck')} CHECK (
          (request ->> 'amount')::numeric BETWEEN 0 AND 999999999999
        )
      )`.execute(db)
    await sql`COMMENT ON COLUMN ${names.id('attempts')}.request IS 'never card data'`.execute(db)
    await sql`
      CREATE INDEX ${names.local('attempts_unsettled_ix')} ON ${names.id('attempts')} (state, merchant_id, id)
        WHERE state IN ('sent', 'unknown')`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('attempts')}`.execute(db)
  },
})
