import { sql } from 'kysely'
import { expect } from 'vitest'
import type { TestApp, TestPayments } from './payments-app.ts'

/**
 * Captures an amount over the API, as a member of the merchant. The acquirer accepts a capture of what `customerPayment` has made
 * at a live merchant.
 */
export async function capture(
  { app, owner }: Pick<TestPayments, 'app' | 'owner'>,
  { headers }: Pick<TestApp, 'headers'>,
  id: string,
  amount: number,
): Promise<void> {
  const response = await app.inject({
    method: 'POST',
    url: `/transactions/${id}/captures`,
    headers,
    payload: { amount },
  })
  expect(response.statusCode).toBe(201)
  const { merchantId, test } = response.json().transaction
  if (test) return
  const { rows } = await sql<{ id: string }>`
    SELECT o.id FROM ${sql.table('transactions')} t JOIN ${sql.table('acquirer_operations')} o
      ON o.merchant_id = t.merchant_id AND o.transaction_id = t.id AND o.status = 'open'
    WHERE t.merchant_id = ${merchantId} AND t.id = ${id} AND t.acquirer_ref = 'north-' || t.id`.execute(owner.db)
  // A distributed database sends a call to the server of its merchant only when the statement reads no table.
  for (const operation of rows) {
    await sql`SELECT ${sql.table('close_operation')}(${merchantId}, ${operation.id}, 'accepted', NULL)`.execute(
      owner.db,
    )
  }
}
