// Functions pass each other movements of money whose amounts are decided, and operations that clients ask for. Types name
// their members.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createMovements: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createMovement(db, names)
    await createOperationTypes(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TYPE ${sql.join(['operation_result', 'operation_item', 'movement'].map(names.id))}`.execute(db)
  },
})

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
 * What `run_operations` works on. `operation_item`: what is asked, what access was judged, and what the merchant pays.
 * `operation_result`: its verdict, the `transaction` before it, and the amounts after it as `moment`.
 */
async function createOperationTypes(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TYPE ${names.id('operation_item')} AS (
      kind text, transaction_id text, amount bigint, currency text, descriptor text, reference text,
      path text, key text, fingerprint bytea, verdict text, identity_id text, merchant_id text, funding_currency text,
      pricing jsonb
    )`.execute(db)
  await sql`
    CREATE TYPE ${names.id('operation_result')} AS (
      verdict text, identity_id text, possible bigint, moment ${names.id('movement')}, transaction ${names.id('transactions')}
    )`.execute(db)
}
