// Each payment stores the used card. The number is encrypted, and a keyed digest finds other payments with the same card.
// `key_id` names the vault key that encrypted the number, so that keys can be rotated.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

export const createInstruments: MigrationSource = (names) => ({
  tables: { instruments: 'owned' },
  async up(db: Kysely<unknown>) {
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
        planned boolean NOT NULL DEFAULT false,
        CONSTRAINT ${names.local('instruments_pan_mac_ck')} CHECK (octet_length(pan_mac) = 32),
        CONSTRAINT ${names.local('instruments_bin_ck')} CHECK (bin ~ '^[0-9]{6}$'),
        CONSTRAINT ${names.local('instruments_last4_ck')} CHECK (last4 ~ '^[0-9]{4}$'),
        CONSTRAINT ${names.local('instruments_expiry_ck')} CHECK (extract(day FROM expiry + 1) = 1),
        CONSTRAINT ${names.local('instruments_scheme_ck')} CHECK (scheme IN (
          'visa', 'mastercard', 'amex', 'diners', 'discover', 'jcb', 'unionpay', 'maestro'
        ))
      )`.execute(db)
    await describe(db, names)
    await sql`
      CREATE INDEX ${names.local('instruments_pan_mac_ix')} ON ${names.id('instruments')} (merchant_id, pan_mac)
    `.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('instruments')}`.execute(db)
  },
})

async function describe(db: Kysely<unknown>, names: Names): Promise<void> {
  const comments = {
    expiry: 'last day on which the card is good',
    scheme: 'null when the number is of none that is known',
    scenario: 'how the simulator treats the card: what differs from a card with which all is fine',
    planned: 'whether its first payment announced a plan',
  }
  for (const [column, text] of Object.entries(comments)) {
    await sql`COMMENT ON COLUMN ${names.id('instruments')}.${sql.id(column)} IS ${sql.lit(text)}`.execute(db)
  }
}
