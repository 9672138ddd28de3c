// A merchant may save the card of a transaction and charge it again with the id of this row.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { merchantReference, merchantRow } from './merchant-rows.ts'

export const createCards: MigrationSource = (names) => ({
  tables: { cards: 'owned' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('cards')} (${merchantRow(names, 'cards')},
        transaction_id text COLLATE "C" NOT NULL,
        instrument_id text COLLATE "C" NOT NULL,
        notes text,
        deleted timestamptz(3),
        ${merchantReference(names, 'cards', 'transactions')},
        ${merchantReference(names, 'cards', 'instruments')},
        CONSTRAINT ${names.local('cards_notes_ck')} CHECK (length(notes) <= 1000)
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('cards')}`.execute(db)
  },
})
