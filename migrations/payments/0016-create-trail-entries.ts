// The trail of a transaction lists its changes in order, each with its worth for the merchant.
//
// `post` writes and hashes these rows in column order, which must not change.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { refuseChanges } from './append-only.ts'
import { merchantRow } from './merchant-rows.ts'

export const createTrailEntries: MigrationSource = (names) => ({
  tables: { trail_entries: 'owned' },
  async up(db: Kysely<unknown>) {
    // A lost dispute takes the captured amount, its gross, and the issuer's excess demand: its balance is lower by the worth of
    // the excess, and its amount is 0 if captures cover nothing.
    //
    // An entry with a negative amount reverts an entry that the acquirer rejected. Its gross may have either sign, because rates
    // differ between captures. Only such entries give fees back.
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
        CONSTRAINT ${names.local('trail_entries_amount_ck')} CHECK (
          amount > 0 AND gross >= 0
          OR amount = 0 AND gross = 0 AND kind IN ('disputeWon', 'disputeLost')
          OR amount < 0 AND coalesce(left(reference, 9), '') = 'rejected '
        ),
        CONSTRAINT ${names.local('trail_entries_fee_ck')} CHECK (amount < 0 OR fee_flat >= 0 AND fee_rate >= 0),
        CONSTRAINT ${names.local('trail_entries_balance_ck')} CHECK (
          balance = CASE WHEN kind = 'capture' THEN gross ELSE -gross END - fee_flat - fee_rate
          OR kind = 'disputeLost' AND balance < -gross - fee_flat - fee_rate
        ),
        CONSTRAINT ${names.local('trail_entries_line_ck')} CHECK (
          (line_id IS NOT NULL) = (kind IN ('capture', 'refund', 'disputeLost'))
        ),
        CONSTRAINT ${names.local('trail_entries_reference_ck')} CHECK (length(reference) <= 255),
        CONSTRAINT ${names.local('trail_entries_hash_ck')} CHECK (octet_length(hash) = 32)
      )`.execute(db)
    await refuseChanges(db, names, 'trail_entries')
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('trail_entries')}`.execute(db)
  },
})
