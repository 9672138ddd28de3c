// SQL functions pass movements with calculated amounts to each other. This type names their members.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createMovements: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // `post` books a movement. gross, fee_flat, fee_rate and excess_gross are in funding_currency, which is that of the
    // transaction or the payout. NULL means the merchant's current one. For a lost dispute, excess is the part that exceeds the
    // captures, in excess_currency.
    await sql`
      CREATE TYPE ${names.id('movement')} AS (
        merchant_id text, kind text, test boolean,
        amount bigint, currency text, gross bigint, fee_flat bigint, fee_rate bigint, rate text, rate_date date,
        transaction_id text, seq int, descriptor text, reference text, dispute_id text,
        cause_id text, description text,
        pending bigint, captured bigint, refunded bigint, voided bigint, disputed bigint,
        excess bigint, excess_currency text, excess_gross bigint, funding_currency text
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TYPE ${names.id('movement')}`.execute(db)
  },
})
