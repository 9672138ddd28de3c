// A transaction is an authorization of an amount on a card. Its amounts are its whole state, and the constraints define the
// possible states.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { merchantReference, merchantRow } from './merchant-rows.ts'

export const createTransactions: MigrationSource = (names) => ({
  tables: { transactions: 'owned' },
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await createIndexes(db, names)
    await createLists(db, names)
    await expectLargeMerchants(db, names)
    await simulateDisputes(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('transactions')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('ask_for_dispute')}(), ${names.id('mark_disputed')}()`.execute(db)
  },
})

/**
 * No index contains a column that a movement changes. So an update with free space in the page writes no index.
 *
 * `acquirer` authorized the transaction. It continues to move and report the transaction's money, even if the merchant changes to
 * another acquirer. NULL is the simulator. Only an acquirer reserves live money, and it names the authorization (`acquirer_ref`).
 * `tds`: how far 3-D Secure has authenticated the customer; NULL: not at all. `plan`, `unplanned`: later payments that the
 * customer agreed to, stored unchanged; the service does not execute them. `code_present`: whether the payment had a security
 * code. `last4`: the last four digits of the card. Operators find payments by them, and a list by an index needs the column in
 * its table. `funding_currency` is the merchant's currency at the time of the transaction. The worths and fees of the trail stay
 * in it, even if the merchant changes its currency.
 *
 * Functions limit the trail to 10,000 entries. A rejected operation may have up to three corrections, so the CHECK allows 40,000.
 */
async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('transactions')} (${merchantRow(names, 'transactions')},
      instrument_id text COLLATE "C" NOT NULL,
      source_id text COLLATE "C",
      session_id text COLLATE "C",
      test boolean NOT NULL,
      currency text NOT NULL,
      funding_currency text NOT NULL,
      amount bigint NOT NULL,
      descriptor text NOT NULL,
      reference text,
      custom jsonb,
      tds text,
      recurring boolean NOT NULL,
      plan jsonb,
      unplanned jsonb,
      code_present boolean NOT NULL,
      successful boolean NOT NULL,
      error_code integer,
      acquirer text,
      acquirer_ref text,
      pending bigint NOT NULL DEFAULT 0,
      captured bigint NOT NULL DEFAULT 0,
      refunded bigint NOT NULL DEFAULT 0,
      voided bigint NOT NULL DEFAULT 0,
      disputed bigint NOT NULL DEFAULT 0,
      lost bigint NOT NULL DEFAULT 0,
      trail_length integer NOT NULL DEFAULT 0,
      disputed_at_capture boolean NOT NULL DEFAULT false,
      last4 text NOT NULL,
      ${merchantReference(names, 'transactions', 'instruments')},
      CONSTRAINT ${names.local('transactions_currency_ck')} CHECK (currency ~ '^[A-Z]{3}$'),
      CONSTRAINT ${names.local('transactions_funding_ck')} CHECK (funding_currency ~ '^[A-Z]{3}$'),
      CONSTRAINT ${names.local('transactions_amount_ck')} CHECK (amount BETWEEN 0 AND 999999999999),
      CONSTRAINT ${names.local('transactions_acquirer_ck')} CHECK (
        test OR NOT successful OR coalesce(acquirer, '') <> '' AND coalesce(acquirer_ref, '') <> ''
      ),
      CONSTRAINT ${names.local('transactions_reference_ck')} CHECK (length(reference) <= 255),
      CONSTRAINT ${names.local('transactions_last4_ck')} CHECK (last4 ~ '^[0-9]{4}$'),
      CONSTRAINT ${names.local('transactions_tds_ck')} CHECK (tds IN ('attempt', 'full')),
      CONSTRAINT ${names.local('transactions_error_ck')} CHECK (successful = (error_code IS NULL)),
      CONSTRAINT ${names.local('transactions_code_ck')} CHECK (
        error_code BETWEEN 1 AND 22 OR error_code BETWEEN 25 AND 31
      ),
      CONSTRAINT ${names.local('transactions_parts_ck')} CHECK (
        pending >= 0 AND captured >= 0 AND refunded >= 0 AND voided >= 0 AND lost >= 0 AND disputed >= lost
      ),
      CONSTRAINT ${names.local('transactions_sum_ck')} CHECK (
        pending + captured + voided = CASE WHEN successful THEN amount ELSE 0 END
      ),
      CONSTRAINT ${names.local('transactions_reversed_ck')} CHECK (refunded + disputed <= captured),
      CONSTRAINT ${names.local('transactions_trail_ck')} CHECK (trail_length BETWEEN 0 AND 40000)
    ) WITH (fillfactor = 80)`.execute(db)
}

/** A session ends in one transaction. An acquirer's report identifies a transaction by the acquirer's own reference. */
async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE UNIQUE INDEX ${names.local('transactions_session_uq')} ON ${names.id('transactions')}
      (merchant_id, session_id) WHERE session_id IS NOT NULL`.execute(db)
  await sql`
    CREATE INDEX ${names.local('transactions_reference_ix')} ON ${names.id('transactions')}
      (merchant_id, reference, id) WHERE reference IS NOT NULL`.execute(db)
  await sql`
    CREATE INDEX ${names.local('transactions_acquirer_ix')} ON ${names.id('transactions')}
      (merchant_id, acquirer, acquirer_ref) WHERE acquirer IS NOT NULL`.execute(db)
}

/**
 * Operators list the transactions of all merchants by id, and find them by details that a customer knows. Tests, live payments
 * and failures are rare in some installations, so each has its own list. Otherwise a page of them would scan all others, and live
 * failures would scan failed tests, which anybody may create. An amount is searched currency by currency, so that an unused
 * amount is quickly found missing. Filter columns are at the end of the index. A filter that few rows match then reads only index
 * entries.
 *
 * A search among the transactions of one merchant has indexes that begin with the merchant. PostgreSQL 18 expects a condition
 * after the id to cost more than a scan of all rows of a merchant, and one merchant may have most of them.
 */
async function createLists(db: Kysely<unknown>, names: Names): Promise<void> {
  for (const [suffix, columns, where] of [
    ['newest', 'id, merchant_id', 'true'],
    ['test', 'id, merchant_id', 'test'],
    ['live', 'id, merchant_id', 'NOT test'],
    ['failed', 'id, merchant_id', 'NOT successful'],
    ['failed_live', 'id, merchant_id', 'NOT test AND NOT successful'],
    ['last4', 'last4, id, merchant_id, test, successful', 'true'],
    ['amount', 'amount, currency, id, merchant_id, test, successful', 'true'],
    ['found', 'reference, id, merchant_id, test, successful', 'reference IS NOT NULL'],
    ['failed_below', 'merchant_id, id', 'NOT successful'],
    ['last4_below', 'merchant_id, last4, id', 'true'],
    ['amount_below', 'merchant_id, amount, currency, id', 'true'],
  ] as const) {
    await sql`
      CREATE INDEX ${names.local(`transactions_${suffix}_ix`)} ON ${names.id('transactions')} (${sql.raw(columns)})
      ${where === 'true' ? sql`` : sql`WHERE ${sql.raw(where)}`}`.execute(db)
  }
}

/**
 * One merchant may have most of the transactions, and most merchants have few. Generic plans would assume few, and scan all
 * transactions of the merchant for a rare match. With an assumed tenth per merchant, a search index is always cheaper.
 */
async function expectLargeMerchants(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`ALTER TABLE ${names.id('transactions')} ALTER COLUMN merchant_id SET (n_distinct = 10)`.execute(db)
}

/**
 * The simulator has a card that is disputed at its first capture. Triggers mark its transactions and request the dispute, so that
 * every way to capture behaves the same. Transactions of other cards cost nothing more.
 */
async function simulateDisputes(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('mark_disputed')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.disputed_at_capture := EXISTS (
        SELECT FROM ${names.id('instruments')} i
        WHERE i.merchant_id = NEW.merchant_id AND i.id = NEW.instrument_id AND (i.scenario ->> 'disputed')::boolean
      );
      RETURN NEW;
    END $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('transactions_mark')} BEFORE INSERT ON ${names.id('transactions')}
    FOR EACH ROW WHEN (NEW.test AND NEW.successful) EXECUTE FUNCTION ${names.id('mark_disputed')}()`.execute(db)
  await sql`
    CREATE FUNCTION ${names.id('ask_for_dispute')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM ${names.id('enqueue')}(NEW.merchant_id, NEW.id, 'simulated_dispute', '{}');
      RETURN NULL;
    END $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('transactions_dispute')} AFTER UPDATE ON ${names.id('transactions')}
    FOR EACH ROW WHEN (NEW.disputed_at_capture AND OLD.captured = 0 AND NEW.captured > 0)
    EXECUTE FUNCTION ${names.id('ask_for_dispute')}()`.execute(db)
}
