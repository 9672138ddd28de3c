// Why: money is booked twice and never changed: journals of signed entries, and what a merchant is shown of them as lines.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

// No foreign keys between rows of the ledger: one function writes them all, together, and `ledger verify` follows every
// reference. A check of each row would cost a third of a capture.
const LEDGER_TABLES = ['journals', 'entries', 'trail_entries', 'lines'] as const

async function createJournals(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('journals')} (${merchantRow(names, 'journals')},
      kind text NOT NULL,
      cause_id text COLLATE "C" NOT NULL,
      test boolean NOT NULL,
      hash bytea NOT NULL,
      hash_version smallint NOT NULL,
      CONSTRAINT ${names.local('journals_cause_uq')} UNIQUE (merchant_id, kind, cause_id),
      CONSTRAINT ${names.local('journals_kind_ck')} CHECK (kind IN (
        'capture', 'refund', 'dispute', 'payout', 'payoutSettled', 'payoutReversal', 'adjustment', 'schemeSettled'
      )),
      CONSTRAINT ${names.local('journals_hash_ck')} CHECK (octet_length(hash) = 32)
    )`.execute(db)
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

/** What happened to a transaction, in order; and what a merchant's balance was moved by. */
async function createTrailAndLines(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('trail_entries')} (${merchantRow(names, 'trail_entries')},
      transaction_id text COLLATE "C" NOT NULL,
      seq integer NOT NULL,
      kind text NOT NULL,
      amount bigint NOT NULL,
      gross bigint NOT NULL,
      fee_flat bigint NOT NULL,
      fee_rate bigint NOT NULL,
      balance bigint NOT NULL,
      descriptor text NOT NULL,
      reference text,
      line_id text COLLATE "C",
      dispute_id text COLLATE "C",
      rate text,
      rate_date date,
      hash bytea NOT NULL,
      hash_version smallint NOT NULL,
      CONSTRAINT ${names.local('trail_entries_seq_uq')} UNIQUE (merchant_id, transaction_id, seq),
      CONSTRAINT ${names.local('trail_entries_seq_ck')} CHECK (seq > 0),
      CONSTRAINT ${names.local('trail_entries_kind_ck')} CHECK (kind IN (
        'capture', 'refund', 'void', 'disputeWon', 'disputeLost'
      )),
      CONSTRAINT ${names.local('trail_entries_amount_ck')} CHECK (amount > 0 AND gross >= 0),
      CONSTRAINT ${names.local('trail_entries_balance_ck')} CHECK (
        balance = CASE WHEN kind = 'capture' THEN gross ELSE -gross END - fee_flat - fee_rate
      ),
      CONSTRAINT ${names.local('trail_entries_line_ck')} CHECK (
        (line_id IS NOT NULL) = (kind IN ('capture', 'refund', 'disputeLost'))
      ),
      CONSTRAINT ${names.local('trail_entries_reference_ck')} CHECK (length(reference) <= 255),
      CONSTRAINT ${names.local('trail_entries_hash_ck')} CHECK (octet_length(hash) = 32)
    )`.execute(db)
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
    CREATE INDEX ${names.local('lines_transaction_ix')} ON ${names.id('lines')} (merchant_id, transaction_id)`.execute(
    db,
  )
}

/** Sums of a merchant's entries up to the end of a day, so that house accounts need no running total. */
async function createSnapshots(db: Kysely<unknown>, names: Names): Promise<void> {
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
}

/** Whoever may write: a row of the ledger is never changed. The role of the service lacks the rights besides. */
async function refuseChanges(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('refuse_change')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END $$`.execute(db)
  for (const table of LEDGER_TABLES) {
    await sql`
      CREATE TRIGGER ${names.local(`${table}_append_only`)} BEFORE UPDATE OR DELETE OR TRUNCATE
      ON ${names.id(table)} FOR EACH STATEMENT EXECUTE FUNCTION ${names.id('refuse_change')}()`.execute(db)
  }
}

/** The second net behind the posting function: at commit, a journal sums to zero in each currency. */
async function createZeroSum(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('check_zero_sum')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM FROM ${names.id('entries')} e
        WHERE e.merchant_id = NEW.merchant_id AND e.journal_id = NEW.journal_id
        GROUP BY e.currency, e.test HAVING sum(e.amount) <> 0;
      IF FOUND THEN RAISE EXCEPTION 'journal % does not sum to zero', NEW.journal_id; END IF;
      RETURN NULL;
    END $$`.execute(db)
}

export const createLedger: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createJournals(db, names)
    await createTrailAndLines(db, names)
    await createSnapshots(db, names)
    await refuseChanges(db, names)
    await createZeroSum(db, names)
    // Once a journal suffices, for its first entry, and costs a fourth of once an entry.
    await sql`
      CREATE CONSTRAINT TRIGGER ${names.local('entries_zero_sum_ck')} AFTER INSERT ON ${names.id('entries')}
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.seq = 1)
      EXECUTE FUNCTION ${names.id('check_zero_sum')}()`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    const tables = [...LEDGER_TABLES, 'account_snapshots'].map((table) => names.id(table))
    await sql`DROP TABLE ${sql.join(tables)}`.execute(db)
    await sql`DROP FUNCTION ${names.id('check_zero_sum')}()`.execute(db)
    await sql`DROP FUNCTION ${names.id('refuse_change')}()`.execute(db)
  },
})
