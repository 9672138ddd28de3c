import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../../test/bodies.ts'
import {
  createTestApp,
  createTestMerchant,
  merchantBody,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({
    trustedProxies: 1,
    rateLimits: { invitationsPerHour: 3 },
    verifyUser: async (token) => `${token}@example.com`,
  })
})
afterAll(() => payments.close())

/** 201, or the status and the body of the refusal. */
async function invite(app: Pick<TestApp, 'headers'>, merchantId: string, address: string): Promise<unknown> {
  const email = `${randomUUID()}@example.com`
  const response = await payments.app.inject({
    method: 'POST',
    url: `/merchants/${merchantId}/users`,
    payload: { email },
    headers: { ...app.headers, 'x-forwarded-for': address },
  })
  return response.statusCode === 201 ? 201 : statusAndBody(response)
}

it('429: limits the invitations of an address in an hour, with any number of apps', async () => {
  const outcomes: unknown[] = []
  for (let i = 0; i < 5; i++) {
    const app = await createTestApp(payments)
    const { id } = await createTestMerchant(payments, app)
    outcomes.push(await invite(app, id, '192.0.2.1'))
  }
  expect(outcomes).toEqual([201, 201, 201, refusals.rateLimited, refusals.rateLimited])
})

it('429: limits the invitations of an app in an hour, from any number of addresses', async () => {
  const app = await createTestApp(payments)
  const { id } = await createTestMerchant(payments, app)
  const outcomes: unknown[] = []
  for (let i = 0; i < 5; i++) outcomes.push(await invite(app, id, `198.51.100.${i}`))
  expect(outcomes).toEqual([201, 201, 201, refusals.rateLimited, refusals.rateLimited])
})

it('429: counts the invitations of a user together in any case of the letters A to Z', async () => {
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const made = await payments.app.inject({ method: 'POST', url: '/merchants', ...as('ann'), payload: merchantBody })
  const { id } = made.json().merchant
  const outcomes: unknown[] = []
  for (const [i, token] of ['ann', 'Ann', 'aNN', 'ANN', 'ann'].entries()) {
    outcomes.push(await invite(as(token), id, `203.0.113.${i}`))
  }
  expect(outcomes).toEqual([201, 201, 201, refusals.rateLimited, refusals.rateLimited])
})
