import { sql } from 'kysely'
import { seedRows } from '../src/seed/seed-transaction-repository.ts'
import { encryptSeed } from '../src/use-cases/seed.ts'
import type { TestPayments } from './payments-app.ts'

/** A payment of a customer, from which charges can be made. */
export interface CustomerPayment {
  readonly number?: string
  readonly expiry?: { readonly month: number; readonly year: number }
  readonly currency?: string
  readonly amount?: number
}

/** Makes a payment below a merchant, authorized in full, and answers its id. */
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
  // Live money is authorized by an acquirer alone.
  const acquirer = place.test ? {} : { acquirer: 'north', acquirer_ref: `north-${id}` }
  const transaction = JSON.stringify({ ...JSON.parse(seeded.transaction), ...acquirer })
  // As the owner, because the service can seed only transactions of test merchants.
  await sql`
    SELECT ${sql.table('add_transaction')}(${merchantId}, ${transaction}::jsonb, ${seeded.card}::jsonb)
  `.execute(database.db)
  return id
}
