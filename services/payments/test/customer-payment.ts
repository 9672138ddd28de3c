import { sql } from 'kysely'
import { seedRows } from '../src/seed/seed-transaction-repository.ts'
import { encryptSeed } from '../src/use-cases/seed.ts'
import type { TestPayments } from './payments-app.ts'

/** A customer's payment, which later charges can use. */
export interface CustomerPayment {
  readonly number?: string
  readonly expiry?: { readonly month: number; readonly year: number }
  readonly currency?: string
  readonly amount?: number
}

/** Creates a fully authorized payment of a merchant, and returns its id. */
export async function customerPayment(
  { database, deps }: Pick<TestPayments, 'database' | 'deps'>,
  merchantId: string,
  {
    number = '1000000000000000',
    expiry = { month: 8, year: 2066 },
    currency = 'EUR',
    amount = 300,
  }: CustomerPayment = {},
): Promise<string> {
  const { rows } = await sql<{ id: string; instrumentId: string; test: boolean }>`
    SELECT payment.id, card.id AS "instrumentId", m.test
    FROM ${sql.table('merchants')} m, ${sql.table('new_id')}(m.tag) payment, ${sql.table('new_id')}(m.tag) card
    WHERE m.id = ${merchantId}`.execute(database.db)
  const [{ id, ...place } = { id: '', instrumentId: '', test: true }] = rows
  const seeded = seedRows(encryptSeed(deps, { id, merchantId, currency, amount, card: { number, expiry } }, place))
  // Only an acquirer authorizes live money.
  const acquirer = place.test ? {} : { acquirer: 'north', acquirer_ref: `north-${id}` }
  const transaction = JSON.stringify({ ...JSON.parse(seeded.transaction), ...acquirer })
  // Run as the owner, because the service can seed transactions only for test merchants.
  await sql`
    SELECT ${sql.table('add_transaction')}(${merchantId}, ${transaction}::jsonb, ${seeded.card}::jsonb)
  `.execute(database.db)
  return id
}
