// The operator's own accounts have no running total, because every posting would wait for its lock. The sum of each account at
// the end of a day keeps later sums cheap.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createSnapshots: MigrationSource = (names) => ({
  tables: { account_snapshots: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('account_snapshots')} (
        merchant_id text COLLATE "C" NOT NULL,
        account text NOT NULL,
        currency text NOT NULL,
        test boolean NOT NULL,
        date date NOT NULL,
        sum numeric NOT NULL,
        CONSTRAINT ${names.local('account_snapshots_pk')} PRIMARY KEY (merchant_id, account, currency, test, date)
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('account_snapshots')}`.execute(db)
  },
})
