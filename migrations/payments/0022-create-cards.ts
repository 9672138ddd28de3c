// Why: a card may be kept under an id, charged back or reported as fraud; payouts empty the balance. Each is a row of its own.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { merchantReference, merchantRow } from './merchant-rows.ts'

async function createSavedCards(db: Kysely<unknown>, names: Names): Promise<void> {
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
}

/** What the acquirer reports of a transaction is applied at most once: its reference is unique below the merchant. */
async function createReports(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('disputes')} (${merchantRow(names, 'disputes')},
      transaction_id text COLLATE "C" NOT NULL,
      amount bigint NOT NULL,
      currency text NOT NULL,
      reason_code integer NOT NULL,
      reason_title text NOT NULL,
      due timestamptz(3) NOT NULL,
      status text NOT NULL DEFAULT 'open',
      acquirer_ref text,
      resolved timestamptz(3),
      ${merchantReference(names, 'disputes', 'transactions')},
      CONSTRAINT ${names.local('disputes_acquirer_ref_uq')} UNIQUE (merchant_id, acquirer_ref),
      CONSTRAINT ${names.local('disputes_amount_ck')} CHECK (amount > 0),
      CONSTRAINT ${names.local('disputes_status_ck')} CHECK (status IN ('open', 'won', 'lost')),
      CONSTRAINT ${names.local('disputes_resolved_ck')} CHECK ((resolved IS NULL) = (status = 'open'))
    )`.execute(db)
  await sql`
    CREATE TABLE ${names.id('frauds')} (${merchantRow(names, 'frauds')},
      transaction_id text COLLATE "C" NOT NULL,
      reported timestamptz(3),
      reason smallint,
      acquirer_ref text,
      ${merchantReference(names, 'frauds', 'transactions')},
      CONSTRAINT ${names.local('frauds_acquirer_ref_uq')} UNIQUE (merchant_id, acquirer_ref),
      CONSTRAINT ${names.local('frauds_reason_ck')} CHECK (reason BETWEEN 0 AND 8)
    )`.execute(db)
  for (const table of ['disputes', 'frauds']) {
    await sql`
      CREATE INDEX ${names.local(`${table}_transaction_ix`)} ON ${names.id(table)}
        (merchant_id, transaction_id, id DESC)`.execute(db)
  }
}

async function createPayouts(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('payouts')} (${merchantRow(names, 'payouts')},
      date date NOT NULL,
      test boolean NOT NULL,
      amount bigint NOT NULL,
      currency text NOT NULL,
      iban text NOT NULL,
      status text NOT NULL DEFAULT 'created',
      line_id text COLLATE "C" NOT NULL,
      CONSTRAINT ${names.local('payouts_date_uq')} UNIQUE (merchant_id, date, test),
      CONSTRAINT ${names.local('payouts_amount_ck')} CHECK (amount > 0),
      CONSTRAINT ${names.local('payouts_status_ck')} CHECK (status IN ('created', 'exported', 'settled', 'failed'))
    )`.execute(db)
}

export const createCards: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createSavedCards(db, names)
    await createReports(db, names)
    await createPayouts(db, names)
  },
  async down(db: Kysely<unknown>) {
    const tables = ['cards', 'disputes', 'frauds', 'payouts'].map((table) => names.id(table))
    await sql`DROP TABLE ${sql.join(tables)}`.execute(db)
  },
})
