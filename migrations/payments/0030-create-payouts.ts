// A payout takes the available part of a balance, at most once a day. A bank file that is written again must contain the same
// message. Otherwise the bank would pay twice. Therefore a batch stores the content of its file and never changes.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { refuseChanges } from './append-only.ts'
import { merchantRow } from './merchant-rows.ts'

export const createPayouts: MigrationSource = (names) => ({
  tables: { payouts: 'owned', payout_batches: 'local' },
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await createBatches(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('payout_batches')}, ${names.id('payouts')}`.execute(db)
  },
})

async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
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
  await sql`
    CREATE INDEX ${names.local('payouts_waiting_ix')} ON ${names.id('payouts')} (merchant_id, id)
      WHERE status IN ('created', 'exported')`.execute(db)
  // Operators list the payouts of all merchants, and can filter them by status.
  for (const [suffix, columns] of [
    ['newest', 'id, merchant_id'],
    ['status', 'status, id, merchant_id'],
  ] as const) {
    await sql`
      CREATE INDEX ${names.local(`payouts_${suffix}_ix`)} ON ${names.id('payouts')} (${sql.raw(columns)})`.execute(db)
  }
}

/** A batch contains payouts of many merchants. Its digest shows whether rows of its file have changed since. */
async function createBatches(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('payout_batches')} (
      id text COLLATE "C" NOT NULL,
      created timestamptz(3) NOT NULL,
      debtor jsonb NOT NULL,
      form jsonb NOT NULL,
      payouts jsonb NOT NULL,
      digest bytea NOT NULL,
      CONSTRAINT ${names.local('payout_batches_pk')} PRIMARY KEY (id),
      CONSTRAINT ${names.local('payout_batches_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$')
    )`.execute(db)
  await sql`
    COMMENT ON COLUMN ${names.id('payout_batches')}.payouts IS 'ids, merchants and account holders as the file has them'
  `.execute(db)
  await sql`
    COMMENT ON COLUMN ${names.id('payout_batches')}.form IS 'the version of pain.001, and the day on which the bank shall pay'
  `.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('payout_batches')}.digest IS
    'SHA-256 of what the files say'`.execute(db)
  await refuseChanges(db, names, 'payout_batches')
}
