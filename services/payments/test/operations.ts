import { expect } from 'vitest'
import type { TestApp, TestPayments } from './payments-app.ts'

/** Captures an amount over the API, as a member of the merchant. */
export async function capture(
  { app }: Pick<TestPayments, 'app'>,
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
}
