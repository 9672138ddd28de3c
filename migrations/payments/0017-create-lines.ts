// A line shows a merchant one change of its balance, and the balance after it.
//
// `post` writes and hashes these rows in column order, which must not change.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { refuseChanges } from './append-only.ts'
import { merchantRow } from './merchant-rows.ts'

export const createLines: MigrationSource = (names) => ({
  tables: { lines: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('lines')} (${merchantRow(names, 'lines')},
        kind text NOT NULL,
        balance bigint NOT NULL,
        fee bigint NOT NULL,
        description text,
        transaction_id text COLLATE "C",
        amount bigint,
        currency text,
        balance_after bigint NOT NULL,
        journal_id text COLLATE "C" NOT NULL,
        test boolean NOT NULL,
        hash bytea NOT NULL,
        hash_version smallint NOT NULL,
        CONSTRAINT ${names.local('lines_journal_uq')} UNIQUE (merchant_id, journal_id),
        CONSTRAINT ${names.local('lines_kind_ck')} CHECK (kind IN (
          'capture', 'refund', 'dispute', 'payout', 'payoutReversal', 'adjustment'
        )),
        CONSTRAINT ${names.local('lines_hash_ck')} CHECK (octet_length(hash) = 32)
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('lines_transaction_ix')} ON ${names.id('lines')} (merchant_id, transaction_id)
    `.execute(db)
    await refuseChanges(db, names, 'lines')
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('lines')}`.execute(db)
  },
})
