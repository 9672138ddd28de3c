import { sql } from 'kysely'
import { seedTransaction } from '../src/use-cases/seed-transaction.ts'
import type { TestPayments } from './payments-app.ts'

/** A payment that a customer has made: what server-made ones go back to. */
export interface CustomerPayment {
  readonly number?: string
  readonly expiry?: { readonly month: number; readonly year: number }
  readonly currency?: string
  readonly amount?: number
}

/** Makes one in full below a merchant, and answers its id. */
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
  const { rows } = await sql<{ id: string }>`
    SELECT made.id FROM ${sql.table('merchants')} m, ${sql.table('new_id')}(m.tag) made WHERE m.id = ${merchantId}
  `.execute(database.db)
  const id = rows[0]?.id ?? ''
  const card = { number, expiry }
  await database.db
    .transaction()
    .execute((trx) => seedTransaction(trx, deps, { id, merchantId, currency, amount, card }))
  return id
}
