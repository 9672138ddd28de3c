// Why: a transaction is a reservation on a card; its five amounts are its whole state, and the constraints say which states exist.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { merchantReference, merchantRow } from './merchant-rows.ts'

/** A card as it was used: its number sealed, and under a keyed digest. `key_id` is the vault key that sealed it. */
async function createInstruments(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
      CREATE TABLE ${names.id('instruments')} (${merchantRow(names, 'instruments')},
        pan_sealed bytea NOT NULL,
        key_id smallint NOT NULL,
        pan_mac bytea NOT NULL,
        bin text NOT NULL,
        last4 text NOT NULL,
        expiry date NOT NULL,
        scheme text,
        scenario jsonb,
        network_ref text,
        CONSTRAINT ${names.local('instruments_pan_mac_ck')} CHECK (octet_length(pan_mac) = 32),
        CONSTRAINT ${names.local('instruments_bin_ck')} CHECK (bin ~ '^[0-9]{6}$'),
        CONSTRAINT ${names.local('instruments_last4_ck')} CHECK (last4 ~ '^[0-9]{4}$'),
        CONSTRAINT ${names.local('instruments_expiry_ck')} CHECK (extract(day FROM expiry + 1) = 1),
        CONSTRAINT ${names.local('instruments_scheme_ck')} CHECK (scheme IN (
          'visa', 'mastercard', 'amex', 'diners', 'discover', 'jcb', 'unionpay', 'maestro'
        ))
      )`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('instruments')}.expiry IS 'last day on which the card is good'`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('instruments')}.scheme IS 'null when the number is of none that is known'`.execute(
    db,
  )
  await sql`CREATE INDEX ${names.local('instruments_pan_mac_ix')} ON ${names.id('instruments')} (merchant_id, pan_mac)`.execute(
    db,
  )
}

export const createTransactions: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createInstruments(db, names)
    // No index on a column that a movement changes: with room in the page, an update writes no index at all.
    await sql`
      CREATE TABLE ${names.id('transactions')} (${merchantRow(names, 'transactions')},
        instrument_id text COLLATE "C" NOT NULL,
        source_id text COLLATE "C",
        test boolean NOT NULL,
        currency text NOT NULL,
        amount bigint NOT NULL,
        descriptor text NOT NULL,
        reference text,
        pending bigint NOT NULL DEFAULT 0,
        captured bigint NOT NULL DEFAULT 0,
        refunded bigint NOT NULL DEFAULT 0,
        voided bigint NOT NULL DEFAULT 0,
        disputed bigint NOT NULL DEFAULT 0,
        lost bigint NOT NULL DEFAULT 0,
        trail_length integer NOT NULL DEFAULT 0,
        custom jsonb,
        tds text,
        recurring boolean NOT NULL,
        successful boolean NOT NULL,
        error_code integer,
        plan jsonb,
        unplanned jsonb,
        code_present boolean NOT NULL,
        session_id text COLLATE "C",
        acquirer_ref text,
        ${merchantReference(names, 'transactions', 'instruments')},
        CONSTRAINT ${names.local('transactions_currency_ck')} CHECK (currency ~ '^[A-Z]{3}$'),
        CONSTRAINT ${names.local('transactions_amount_ck')} CHECK (amount >= 0),
        CONSTRAINT ${names.local('transactions_reference_ck')} CHECK (length(reference) <= 255),
        CONSTRAINT ${names.local('transactions_tds_ck')} CHECK (tds IN ('attempt', 'full')),
        CONSTRAINT ${names.local('transactions_error_ck')} CHECK (successful = (error_code IS NULL)),
        CONSTRAINT ${names.local('transactions_parts_ck')} CHECK (
          pending >= 0 AND captured >= 0 AND refunded >= 0 AND voided >= 0 AND lost >= 0 AND disputed >= lost
        ),
        CONSTRAINT ${names.local('transactions_sum_ck')} CHECK (
          pending + captured + voided = CASE WHEN successful THEN amount ELSE 0 END
        ),
        CONSTRAINT ${names.local('transactions_reversed_ck')} CHECK (refunded + disputed <= captured),
        CONSTRAINT ${names.local('transactions_trail_ck')} CHECK (trail_length BETWEEN 0 AND 10000)
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`
      CREATE UNIQUE INDEX ${names.local('transactions_session_uq')} ON ${names.id('transactions')}
        (merchant_id, session_id) WHERE session_id IS NOT NULL`.execute(db)
    await sql`
      CREATE INDEX ${names.local('transactions_reference_ix')} ON ${names.id('transactions')}
        (merchant_id, reference) WHERE reference IS NOT NULL`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('transactions')}, ${names.id('instruments')}`.execute(db)
  },
})
