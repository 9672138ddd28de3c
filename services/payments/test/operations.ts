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
  if (response.json().transaction.test) return
  await sql`
    SELECT ${sql.table('close_operation')}(t.merchant_id, o.id, 'accepted', NULL)
    FROM ${sql.table('transactions')} t JOIN ${sql.table('acquirer_operations')} o
      ON o.merchant_id = t.merchant_id AND o.transaction_id = t.id AND o.status = 'open'
    WHERE t.merchant_id = ${response.json().transaction.merchantId} AND t.id = ${id} AND t.acquirer_ref = 'north-' || t.id
  `.execute(owner.db)
}
