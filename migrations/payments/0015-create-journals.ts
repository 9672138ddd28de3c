// The ledger uses double entry. A movement of money is one journal, and its signed entries sum to zero in each currency.
//
// `post` writes rows of the ledger in column order and hashes their bytes in this order, so the column order must not change.
// Rows of the ledger have no foreign keys to each other: `post` writes them all together, and `ledger verify` follows every
// reference. A check of each row would cost a third of a capture.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { refuseChanges } from './append-only.ts'
import { merchantRow } from './merchant-rows.ts'

export const createJournals: MigrationSource = (names) => ({
  tables: { journals: 'owned', entries: 'owned' },
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await createEntries(db, names)
    await createZeroSum(db, names)
    await createRefusal(db, names)
    await refuseChanges(db, names, 'journals')
    await refuseChanges(db, names, 'entries')
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('entries')}, ${names.id('journals')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('refuse_change')}(), ${names.id('check_zero_sum')}()`.execute(db)
  },
})

async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('journals')} (${merchantRow(names, 'journals')},
      kind text NOT NULL,
      cause_id text COLLATE "C" NOT NULL,
      test boolean NOT NULL,
      hash bytea NOT NULL,
      hash_version smallint NOT NULL,
      CONSTRAINT ${names.local('journals_cause_uq')} UNIQUE (merchant_id, kind, cause_id),
      CONSTRAINT ${names.local('journals_kind_ck')} CHECK (kind IN (
        'capture', 'refund', 'dispute', 'payout', 'payoutSettled', 'payoutReversal', 'adjustment', 'schemeSettled',
        'currencyClosed', 'currencyOpened'
      )),
      CONSTRAINT ${names.local('journals_hash_ck')} CHECK (octet_length(hash) = 32)
    )`.execute(db)
}

async function createEntries(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('entries')} (
      merchant_id text COLLATE "C" NOT NULL,
      journal_id text COLLATE "C" NOT NULL,
      seq smallint NOT NULL,
      account text NOT NULL,
      currency text NOT NULL,
      amount bigint NOT NULL,
      test boolean NOT NULL,
      CONSTRAINT ${names.local('entries_pk')} PRIMARY KEY (merchant_id, journal_id, seq),
      CONSTRAINT ${names.local('entries_account_ck')} CHECK (account IN (
        'merchant', 'scheme_receivable', 'fx_position', 'fee_income', 'payout_clearing', 'bank', 'adjustment'
      )),
      CONSTRAINT ${names.local('entries_amount_ck')} CHECK (amount <> 0)
    )`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('entries')}.amount IS 'minor units; credit is positive'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('entries_account_ix')} ON ${names.id('entries')}
      (merchant_id, account, currency, test)`.execute(db)
}

/**
 * The second check after `post`: a journal sums to zero in each currency. A statement trigger sees all new entries of an INSERT.
 * So one query checks a whole batch and reads no table, independent of statistics. Rows never change, so INSERTs that each sum to
 * zero add up to zero.
 */
async function createZeroSum(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('check_zero_sum')}() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      wrong text;
    BEGIN
      SELECT e.journal_id INTO wrong FROM added e
        GROUP BY e.merchant_id, e.journal_id, e.currency, e.test HAVING sum(e.amount) <> 0 LIMIT 1;
      IF FOUND THEN RAISE EXCEPTION 'journal % does not sum to zero', wrong; END IF;
      RETURN NULL;
    END $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('entries_zero_sum_ck')} AFTER INSERT ON ${names.id('entries')}
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ${names.id('check_zero_sum')}()`.execute(db)
}

/** For every table with rows that never change. The role of the service also has no right to change them. */
async function createRefusal(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('refuse_change')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END $$`.execute(db)
}
