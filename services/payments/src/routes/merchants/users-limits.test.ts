import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ trustedProxies: 1, rateLimits: { invitationsPerHour: 3 } })
})
afterAll(() => payments.close())

async function invite(app: TestApp, merchantId: string, address: string): Promise<number> {
  const email = `${randomUUID()}@example.com`
  const response = await payments.app.inject({
    method: 'POST',
    url: `/merchants/${merchantId}/users`,
    payload: { email },
    headers: { ...app.headers, 'x-forwarded-for': address },
  })
  return response.statusCode
}

it('429: limits the invitations of an address in an hour, with any number of apps', async () => {
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) {
    const app = await createTestApp(payments)
    const { id } = await createTestMerchant(payments, app)
    statuses.push(await invite(app, id, '192.0.2.1'))
  }
  expect(statuses).toEqual([201, 201, 201, 429, 429])
})

it('429: limits the invitations of an app in an hour, from any number of addresses', async () => {
  const app = await createTestApp(payments)
  const { id } = await createTestMerchant(payments, app)
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) statuses.push(await invite(app, id, `198.51.100.${i}`))
  expect(statuses).toEqual([201, 201, 201, 429, 429])
})
