// The hash chain of the ledger covers only journals, entries, trail entries and lines. It would not show a raised authorization,
// a changed bank account or a deleted dispute. Therefore a second chain covers every row with columns that move money, or that
// identify its payer or payee.
//
// `record_states` writes and hashes these rows in the order of their columns, which must not change.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { refuseChanges } from './append-only.ts'
import { merchantRow } from './merchant-rows.ts'

export const createStateEntries: MigrationSource = (names) => ({
  tables: { state_entries: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('state_entries')} (${merchantRow(names, 'state_entries')},
        table_name text NOT NULL,
        row_id text COLLATE "C" NOT NULL,
        money bytea NOT NULL,
        party bytea NOT NULL,
        terms bytea NOT NULL,
        login text NOT NULL,
        hash bytea NOT NULL,
        hash_version smallint NOT NULL,
        CONSTRAINT ${names.local('state_entries_table_ck')} CHECK (table_name IN (
          'merchants', 'transactions', 'cards', 'disputes', 'acquirer_operations', 'acquirer_exceptions', 'payouts'
        )),
        CONSTRAINT ${names.local('state_entries_hash_ck')} CHECK (octet_length(hash) = 32)
      )`.execute(db)
    await sql`
      COMMENT ON COLUMN ${names.id('state_entries')}.login IS 'who was connected when the row was written'`.execute(db)
    await sql`
      CREATE INDEX ${names.local('state_entries_row_ix')} ON ${names.id('state_entries')}
        (merchant_id, table_name, row_id, id)`.execute(db)
    await refuseChanges(db, names, 'state_entries')
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('state_entries')}`.execute(db)
  },
})
