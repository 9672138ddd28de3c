// Why: functions hand each other movements of money whose amounts are decided, and requests for them. Types name their members.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/** What `post` books. In the merchant's currency: gross, fee_flat, fee_rate. */
async function createMovement(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TYPE ${names.id('movement')} AS (
      merchant_id text, kind text, test boolean,
      amount bigint, currency text, gross bigint, fee_flat bigint, fee_rate bigint, rate text, rate_date date,
      transaction_id text, seq int, descriptor text, reference text, dispute_id text,
      cause_id text, description text,
      pending bigint, captured bigint, refunded bigint, voided bigint, disputed bigint
    )`.execute(db)
}

/**
 * What `move_many` works on. `move_item`: what is asked, who may ask it, and what the merchant pays. `move_result`: what came of
 * it; `transaction` as it was before, `moment` its amounts after.
 */
async function createMoveTypes(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TYPE ${names.id('move_item')} AS (
      operation text, id text, amount bigint, currency text, descriptor text, reference text,
      path text, key text, fingerprint bytea, verdict text, identity_id text, merchant_id text, own text, pricing jsonb
    )`.execute(db)
  await sql`
    CREATE TYPE ${names.id('move_result')} AS (
      verdict text, identity_id text, possible bigint, moment ${names.id('movement')}, transaction ${names.id('transactions')}
    )`.execute(db)
}

export const createMovements: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createMovement(db, names)
    await createMoveTypes(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TYPE ${sql.join(['move_result', 'move_item', 'movement'].map(names.id))}`.execute(db)
  },
})
