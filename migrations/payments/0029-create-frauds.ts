// A fraud alert tells the merchant that a card was misused. The acquirer's reference is unique for the merchant, so an alert is
// stored at most once. A time outside 1970 to 9999 could not be displayed, and would break each list with the alert.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantReference, merchantRow } from './merchant-rows.ts'

export const createFrauds: MigrationSource = (names) => ({
  tables: { frauds: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('frauds')} (${merchantRow(names, 'frauds')},
        transaction_id text COLLATE "C" NOT NULL,
        reported timestamptz(3),
        reason smallint,
        acquirer_ref text,
        ${merchantReference(names, 'frauds', 'transactions')},
        CONSTRAINT ${names.local('frauds_acquirer_ref_uq')} UNIQUE (merchant_id, acquirer_ref),
        CONSTRAINT ${names.local('frauds_reason_ck')} CHECK (reason BETWEEN 0 AND 8),
        CONSTRAINT ${names.local('frauds_reported_ck')} CHECK (
          reported >= '1970-01-01T00:00:00Z' AND reported < '10000-01-01T00:00:00Z'
        )
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('frauds_transaction_ix')} ON ${names.id('frauds')}
        (merchant_id, transaction_id, id DESC)`.execute(db)
    // Operators list the alerts of all merchants, optionally by transaction.
    for (const [suffix, columns] of [
      ['newest', 'id, merchant_id'],
      ['about', 'transaction_id, id, merchant_id'],
    ] as const) {
      await sql`
        CREATE INDEX ${names.local(`frauds_${suffix}_ix`)} ON ${names.id('frauds')} (${sql.raw(columns)})`.execute(db)
    }
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('frauds')}`.execute(db)
  },
})
