// `run_operations` takes many operations of clients and returns a result for each. These types name the members of both.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createOperationTypes: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // An operation: the request, the checked access, and the prices of the merchant.
    await sql`
      CREATE TYPE ${names.id('operation_item')} AS (
        kind text, transaction_id text, amount bigint, currency text, descriptor text, reference text,
        path text, key text, fingerprint bytea, verdict text, identity_id text, merchant_id text, pricing jsonb
      )`.execute(db)
    // The verdict on an operation, the `transaction` before it, and the amounts after it as `movement`.
    await sql`
      CREATE TYPE ${names.id('operation_result')} AS (
        verdict text, identity_id text, possible bigint, movement ${names.id('movement')}, transaction ${names.id('transactions')}
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TYPE ${names.id('operation_result')}, ${names.id('operation_item')}`.execute(db)
  },
})
