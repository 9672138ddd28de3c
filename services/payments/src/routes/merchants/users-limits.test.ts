import { randomUUID } from 'node:crypto'
import { memoryStore } from '@trestle/rate-limits/limiter-store.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../../test/bodies.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  merchantBody,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'

/** The limit and the key of each counted use. */
const counted: string[] = []
const store = memoryStore()
let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({
    trustedProxies: 1,
    rateLimits: { invitationsPerHour: 3 },
    verifyUser: async (token) => `${token}@example.com`,
    limiterStore: (name, window) => {
      const limiter = store(name, window)
      const consume = (key: string) => {
        counted.push(`${name} ${key}`)
        return limiter.consume(key)
      }
      return { ...limiter, consume }
    },
  })
})
afterAll(() => payments.close())

/** Returns 201, or the status and the body of the refusal. */
async function invite(
  app: Pick<TestApp, 'headers'>,
  merchantId: string,
  address: string,
  email: unknown = `${randomUUID()}@example.com`,
): Promise<unknown> {
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

it('429: lets no more invitations pass that are sent at once', async () => {
  const app = await createTestApp(payments)
  const { id } = await createTestMerchant(payments, app)
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => invite(app, id, '192.0.2.9')))
  expect(outcomes.filter((outcome) => outcome === 201)).toHaveLength(3)
  expect(outcomes.filter((outcome) => outcome !== 201)).toEqual(Array(5).fill(refusals.rateLimited))
})

describe('requests that invite nobody', () => {
  it('201: a repeat with its Idempotency-Key has its answer where the first request has used up the limit', async () => {
    const app = await createTestApp(payments)
    const { id } = await createTestMerchant(payments, app)
    const send = (name: string) =>
      payments.app.inject({
        method: 'POST',
        url: `/merchants/${id}/users`,
        payload: { email: `${name}@repeat.example.com` },
        headers: { ...app.headers, 'x-forwarded-for': '192.0.2.30', 'idempotency-key': name },
      })
    for (const name of ['one', 'two', 'three']) expect((await send(name)).statusCode).toBe(201)
    const [repeat, fourth] = [await send('three'), await send('four')]
    expect([...statusAndBody(repeat), repeat.headers['idempotent-replayed']]).toEqual([
      201,
      { isMember: false },
      'true',
    ])
    expect(statusAndBody(fourth)).toEqual(refusals.rateLimited)
  })

  const invalid = [400, [{ field: 'email', message: 'must be a string', code: 'TYPE' }]]

  it('401: count for no limit of invitations, and add no key to it', async () => {
    counted.length = 0
    for (let i = 0; i < 4; i++) {
      expect(await invite({ headers: basic(randomUUID()) }, UNKNOWN_ID, '192.0.2.20')).toEqual(refusals.unauthorized)
    }
    expect(counted).toEqual([])
    const app = await createTestApp(payments)
    const { id } = await createTestMerchant(payments, app)
    expect(await invite(app, id, '192.0.2.20')).toBe(201)
  })

  it('201: leave their address and their app every invitation', async () => {
    const [app, stranger] = [await createTestApp(payments), await createTestApp(payments)]
    const { id } = await createTestMerchant(payments, app)
    const address = '192.0.2.21'
    for (let i = 0; i < 4; i++) {
      expect(await invite(stranger, id, address)).toEqual(refusals.forbidden)
      expect(await invite(app, UNKNOWN_ID, address)).toEqual(refusals.notFound)
      expect(await invite(app, id, address, 5)).toEqual(invalid)
    }
    const outcomes: unknown[] = []
    // The second request for an address within ten minutes sends no mail.
    for (const email of ['a', 'a', 'a', 'a', 'b', 'c', 'd']) {
      outcomes.push(await invite(app, id, address, `${email}@quota.example.com`))
    }
    expect(outcomes).toEqual([201, 201, 201, 201, 201, 201, refusals.rateLimited])
  })
})
