import { anyId } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { paidOrder } from '../../test/bodies.ts'
import { refusedCard, refusedOrder, refusedToken } from '../../test/checkout-refusals.ts'
import { type Browser, browse, createOrder, walk } from '../../test/customer.ts'
import {
  createTestApp,
  createTestMerchant,
  placement,
  secondProcess,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from '../../test/stub-acquirer.ts'
import { endLostAttempts } from './end-lost-attempts.ts'
import { inquireAttempt } from './inquire-attempt.ts'

let north: StubAcquirer
let payments: TestPayments
let browser: Browser
let app: TestApp
let merchant: { id: string; key?: unknown }
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({ lockTimeoutMs: 30_000, acquirers: new Map([['north', north]]) })
  browser = browse(payments)
  app = await createTestApp(payments)
})
beforeEach(async () => {
  merchant = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
  Object.assign(north.answers, createStubAcquirer().answers)
})
afterAll(() => payments.close())

const db = () => payments.database.db
const newOrder = (changes: object = {}) => createOrder(browser, { key: merchant.key, ...changes })
/** Returns an order that has passed all challenges. */
async function ready(changes: object = {}) {
  const order = await newOrder(changes)
  return { ...order, hints: (await walk(browser, order, { until: 'tds-challenge' })).hints }
}
const transactions = (id = merchant.id) =>
  db()
    .selectFrom('transactions')
    .select(['id', 'successful', 'error_code'])
    .where('merchant_id', '=', id)
    .orderBy('id')
    .execute()
const count = async (table: 'transactions' | 'attempts' | 'instruments' | 'spent_tokens') =>
  Number(
    (
      await db()
        .selectFrom(table)
        .select(sql<bigint>`count(*)`.as('n'))
        .where('merchant_id', '=', merchant.id)
        .executeTakeFirst()
    )?.n,
  )
/** Makes the merchant live, with an acquirer. Its orders have a real card and no test object. */
async function goLive(): Promise<object> {
  merchant = await createTestMerchant(payments, app, { currency: 'EUR' })
  await db().updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', merchant.id).execute()
  return { number: '4242424242424242', test: undefined }
}

describe('an order after its last challenge', () => {
  it('201: is paid once when it is sent 1,000 times at once, to two processes', async () => {
    const order = await ready()
    const second = await secondProcess(payments)
    const browsers = [browser, browse(second)]
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => browsers[i % 2]?.send('/payments', order)),
    )
    await second.close()
    const [first] = await transactions()
    expect(await transactions()).toEqual([{ id: first?.id, successful: true, error_code: null }])
    const expected = { authorizationId: first?.id, transactionId: first?.id }
    expect(answers.filter((answer) => answer?.status === 201)).toHaveLength(1_000)
    for (const answer of answers) expect(answer?.body).toEqual(expected)
    expect([await count('attempts'), await count('instruments'), await count('spent_tokens')]).toEqual([1, 1, 2])
  })

  it('201: gets the same answer for half an hour, also when its tokens are too old or spent', async () => {
    const order = await ready()
    const paid = await browser.send('/payments', order)
    expect((await browser.send('/payments', order)).body).toEqual(paid.body)
    await db()
      .updateTable('payment_sessions')
      .set({ expires: sql`now() - interval '1 second'` })
      .where('merchant_id', '=', merchant.id)
      .execute()
    const late = await browser.send('/payments', order)
    expect([late.status, late.body]).toEqual(refusedToken('card.number'))
    expect(await count('transactions')).toBe(1)
  })

  it('201: gets the same answer after its plan has begun, and when its merchant may no longer charge', async () => {
    const begins = { amount: { currency: 'EUR', exponent: 2, value: 900 }, scheduled: '2066-08-01T00:00:00Z' }
    const order = await ready({ plan: [begins] })
    const paid = await browser.send('/payments', order)
    expect([paid.status, paid.body]).toEqual(paidOrder)
    const { id } = merchant
    const years = 45n * 365n * 86_400n
    await db().updateTable('merchant_balances').set({ clock_offset: years }).where('merchant_id', '=', id).execute()
    expect((await browser.send('/payments', order)).body).toEqual(paid.body)
    await db()
      .updateTable('merchants')
      .set({ claim: sql`claim || '{"canChargeCard":false}'` })
      .where('id', '=', id)
      .execute()
    expect((await browser.send('/payments', order)).body).toEqual(paid.body)
    const { status, body } = await browser.send('/payments', { ...order, test: undefined })
    expect([status, body]).toEqual(refusedOrder('TEST_MODE_MIXED', 'test is required for a test merchant'))
  })

  it('400: is refused once, and its card may be tried again from the beginning', async () => {
    const order = await ready({ test: { card: { limit: { currency: 'EUR', exponent: 2, value: 999 } } } })
    const answers = await Promise.all(Array.from({ length: 50 }, () => browser.send('/payments', order)))
    for (const { status, body } of answers) expect([status, body]).toEqual(refusedCard('PAYMENT_AMOUNT_LIMIT'))
    expect(await transactions()).toEqual([{ successful: false, error_code: 25, id: anyId }])
    expect(await count('spent_tokens')).toBe(0)
    const again = await walk(browser, { ...order, test: {} })
    expect([again.status, await count('transactions')]).toEqual([201, 2])
  })

  it('201: waits for a request that is asking the acquirer', async () => {
    const live = await goLive()
    const order = await newOrder(live)
    const { hints } = await walk(browser, order, { until: 'card-lookup' })
    const arrival = Promise.withResolvers<void>()
    const approval = Promise.withResolvers<{ verdict: 'approved'; ref: string; networkRef: null }>()
    north.answers.authorize = () => {
      arrival.resolve()
      return approval.promise
    }
    const first = browser.send('/payments', { ...order, hints })
    await arrival.promise
    const second = browser.send('/payments', { ...order, hints })
    approval.resolve({ verdict: 'approved', ref: 'r-1', networkRef: null })
    expect((await second).body).toEqual((await first).body)
    expect(await count('attempts')).toBe(1)
  })
})

describe('tokens of a card', () => {
  it('400: refuses one of two orders that use the same tokens at once, and pays the other', async () => {
    const order = await newOrder()
    const other = { ...order, amount: { currency: 'EUR', exponent: 2, value: 2_000 } }
    const orders = await Promise.all(
      [order, other].map(async (each) => ({
        ...each,
        hints: (await walk(browser, each, { until: 'tds-challenge' })).hints,
      })),
    )
    const answers = await Promise.all(orders.map((each) => browser.send('/payments', each)))
    const refused = answers.filter(({ status }) => status !== 201)
    expect(refused.map(({ status, body }) => [status, body])).toEqual([refusedToken('card.number')])
    expect(await transactions()).toEqual([{ successful: true, id: anyId, error_code: null }])
  })

  it('400: belong to the merchant that uses them first, and pay no other', async () => {
    const order = await newOrder()
    expect((await walk(browser, order, { until: 'card-lookup' })).status).toBe(200)
    const other = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
    const own = await newOrder({ key: other.key })
    const mixed = [
      [{ ...own.card, number: order.card.number }, 'card.number'],
      [{ ...own.card, code: order.card.code }, 'card.code'],
    ] as const
    for (const [card, path] of mixed) {
      const { status, body } = await browser.send('/payments/challenges/card-lookup', { ...own, card })
      expect([status, body]).toEqual(refusedToken(path))
    }
    // The service detects the wrong security code only at the last step.
    const { hints } = await walk(browser, own, { until: 'tds-challenge' })
    const late = await browser.send('/payments', { ...own, hints, card: { ...own.card, code: order.card.code } })
    expect([late.status, late.body]).toEqual(refusedToken('card.code'))
    for (const good of [own, order]) {
      const { status, body } = await walk(browser, good)
      expect([status, body]).toEqual(paidOrder)
    }
    const third = await walk(browser, order)
    expect([third.status, third.body]).toEqual(refusedToken('card.number'))
  })

  it('400: belong to one of two merchants that use them at once', async () => {
    const other = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
    for (let round = 0; round < 20; round++) {
      const order = await newOrder()
      const orders = [order, { ...order, integration: { key: other.key } }]
      const sent = orders.map((each) => browser.send('/payments/challenges/card-lookup', each))
      const refused = (await Promise.all(sent)).filter(({ status }) => status !== 200)
      expect(refused.map(({ status, body }) => [status, body])).toEqual([refusedToken('card.number')])
    }
  })
})

describe('an attempt whose process has ended', () => {
  it('becomes unknown: its order is refused, its tokens are free, and a late approval is not answered', async () => {
    const live = await goLive()
    const order = await newOrder(live)
    const { hints } = await walk(browser, order, { until: 'card-lookup' })
    const arrival = Promise.withResolvers<void>()
    const approval = Promise.withResolvers<{ verdict: 'approved'; ref: string; networkRef: null }>()
    north.answers.authorize = () => {
      arrival.resolve()
      return approval.promise
    }
    const waiting = browser.send('/payments', { ...order, hints })
    await arrival.promise
    await db()
      .updateTable('attempts')
      .set({ created: sql`now() - interval '16 seconds'` })
      .where('merchant_id', '=', merchant.id)
      .execute()
    const deps = { ...payments.deps, placement, db: db() }
    await endLostAttempts(deps, await endLostAttempts(deps, new Set()))
    const refused = await browser.send('/payments', { ...order, hints })
    expect([refused.status, refused.body]).toEqual(refusedCard('PAYMENT_METHOD_ERROR'))
    approval.resolve({ verdict: 'approved', ref: 'r-1', networkRef: null })
    const { status, body } = await waiting
    expect([status, body]).toEqual(refusedCard('PAYMENT_METHOD_ERROR'))
    expect(await transactions()).toEqual([{ successful: false, error_code: 12, id: anyId }])
    expect(await count('spent_tokens')).toBe(0)
    expect(
      await db().selectFrom('attempts').select(['kind', 'state']).where('merchant_id', '=', merchant.id).execute(),
    ).toEqual([{ kind: 'payment', state: 'unknown' }])
    expect(await db().selectFrom('outbox').select('kind').where('merchant_id', '=', merchant.id).execute()).toEqual([
      { kind: 'inquiry' },
    ])
  })

  it('is inquired about later, and an approval is given back', async () => {
    const live = await goLive()
    north.answers.authorize = () => Promise.reject(new Error('reset'))
    const { status, body } = await walk(browser, await newOrder(live))
    expect([status, body]).toEqual(refusedCard('PAYMENT_METHOD_ERROR'))
    north.answers.inquire = async () => ({ verdict: 'approved', ref: 'r-1', networkRef: null })
    const { id } = await db()
      .selectFrom('attempts')
      .select('id')
      .where('merchant_id', '=', merchant.id)
      .executeTakeFirstOrThrow()
    const job = { merchantId: merchant.id, id, step: 0 }
    expect(await inquireAttempt({ ...payments.deps, db: db() }, job)).toBe('done')
    expect([north.received.inquiries.at(-1), north.received.givenBack.at(-1)]).toEqual([id, id])
    const attempts = await db().selectFrom('attempts').select('state').where('id', '=', id).execute()
    expect([attempts, await transactions()]).toEqual([
      [{ state: 'reversed' }],
      [{ successful: false, id: anyId, error_code: 12 }],
    ])
  })
})
