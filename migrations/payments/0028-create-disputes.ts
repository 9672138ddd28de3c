// A dispute reserves captured money when it opens and takes it when it is lost. The issuer may demand more than was captured. The
// excess is reserved and taken too. The acquirer's reference is unique for the merchant, so a report is applied at most once.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { merchantReference, merchantRow } from './merchant-rows.ts'

export const createDisputes: MigrationSource = (names) => ({
  tables: { disputes: 'owned' },
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await reverseAfterWin(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('disputes')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('reverse_after_dispute')}()`.execute(db)
  },
})

/**
 * `covered`: the part of the amount that captures cover, in the currency of the transaction, which counts it as disputed.
 * `excess`: the rest, in the currency of the dispute. `excess_gross`: the worth of the excess in the funding currency of the
 * transaction, at the rate of the dispute's first day.
 */
async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('disputes')} (${merchantRow(names, 'disputes')},
      transaction_id text COLLATE "C" NOT NULL,
      amount bigint NOT NULL,
      currency text NOT NULL,
      reason_code integer NOT NULL,
      reason_title text NOT NULL,
      due timestamptz(3) NOT NULL,
      status text NOT NULL DEFAULT 'open',
      resolved timestamptz(3),
      acquirer_ref text,
      covered bigint NOT NULL,
      excess bigint NOT NULL,
      excess_gross bigint NOT NULL,
      ${merchantReference(names, 'disputes', 'transactions')},
      CONSTRAINT ${names.local('disputes_acquirer_ref_uq')} UNIQUE (merchant_id, acquirer_ref),
      CONSTRAINT ${names.local('disputes_amount_ck')} CHECK (amount > 0),
      CONSTRAINT ${names.local('disputes_excess_ck')} CHECK (
        covered >= 0 AND excess BETWEEN 0 AND amount AND excess_gross >= 0 AND covered + excess > 0
      ),
      CONSTRAINT ${names.local('disputes_status_ck')} CHECK (status IN ('open', 'won', 'lost')),
      CONSTRAINT ${names.local('disputes_resolved_ck')} CHECK ((resolved IS NULL) = (status = 'open'))
    )`.execute(db)
  await sql`
    CREATE INDEX ${names.local('disputes_transaction_ix')} ON ${names.id('disputes')}
      (merchant_id, transaction_id, id DESC)`.execute(db)
  await sql`
    CREATE INDEX ${names.local('disputes_open_ix')} ON ${names.id('disputes')} (merchant_id, transaction_id)
      WHERE status = 'open'`.execute(db)
  await createLists(db, names)
}

/** Operators list the disputes of all merchants, optionally by status or transaction. */
async function createLists(db: Kysely<unknown>, names: Names): Promise<void> {
  for (const [suffix, columns] of [
    ['newest', 'id, merchant_id'],
    ['status', 'status, id, merchant_id'],
    ['about', 'transaction_id, id, merchant_id'],
  ] as const) {
    await sql`
      CREATE INDEX ${names.local(`disputes_${suffix}_ix`)} ON ${names.id('disputes')} (${sql.raw(columns)})`.execute(db)
  }
}

/** After a won dispute, its money may be owed to the acquirer for a rejected capture. */
async function reverseAfterWin(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('reverse_after_dispute')}() RETURNS trigger LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
    BEGIN
      PERFORM ${names.id('reverse_rejected')}(NEW.merchant_id, NEW.transaction_id);
      RETURN NULL;
    END $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('disputes_won')} AFTER UPDATE ON ${names.id('disputes')}
    FOR EACH ROW WHEN (OLD.status = 'open' AND NEW.status = 'won')
    EXECUTE FUNCTION ${names.id('reverse_after_dispute')}()`.execute(db)
}
