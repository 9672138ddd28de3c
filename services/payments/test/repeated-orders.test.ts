import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type Browser, browse, createOrder, hintsOf } from './customer.ts'
import { createTestApp, createTestMerchant, secondProcess, startPayments, type TestPayments } from './payments-app.ts'

let payments: TestPayments
let second: TestPayments
let browsers: readonly [Browser, Browser]
let merchant: { id: string; key?: unknown }
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 30_000 })
  second = await secondProcess(payments)
  browsers = [browse(payments), browse(second)]
  merchant = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR', test: true })
})
afterAll(async () => {
  await second.close()
  await payments.close()
})

// The full test: TIMES=250 npx vitest run services/payments/test/repeated-orders.test.ts
const TIMES = Number(process.env.TIMES ?? 1)
const ROUNDS = 4 * TIMES
const TIMEOUT_MS = 60_000 * TIMES
const AT_ONCE = 10
const STEPS_MAX = 8
const clients = Array.from({ length: AT_ONCE }, (_, i) => i)
const newOrder = () => createOrder(browsers[0], { key: merchant.key })
const sendAs = (client: number, path: string, payload: object) =>
  browsers[client % 2 === 0 ? 0 : 1].send(path, payload, { origin: 'https://shop.example' })

/** Does what the first challenge of an answer asks for, and answers its hints. */
async function take(client: number, order: object, { body: { challenges } }: Answer): Promise<readonly string[]> {
  const path = challenges?.[0]?.path ?? ''
  const { status, body } = await sendAs(client, path, order)
  expect([path, status, body]).toEqual([path, 200, body])
  if (body.url === undefined) return body.hints
  return hintsOf(await browsers[0].submit(body.url, { ...body.fields, decision: 'approve' }))
}

describe('the same order with the same hints, ten times at once', () => {
  it(
    '201: gets the same answer at every step',
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const order = await newOrder()
        const hints: string[] = []
        for (let steps = 0; steps < STEPS_MAX; steps++) {
          const answers = await Promise.all(clients.map((i) => sendAs(i, '/payments', { ...order, hints })))
          const [first, ...others] = answers
          if (!first) throw new Error('nobody answered')
          for (const { status, body } of others) expect([status, body]).toEqual([first.status, first.body])
          if (first.status === 201) break
          hints.push(...(await take(0, { ...order, hints }, first)))
        }
        expect((await sendAs(0, '/payments', { ...order, hints })).status).toBe(201)
      }
    },
    TIMEOUT_MS,
  )

  it(
    '201: pays once for clients that each continue on their own, and refuses none of them',
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const order = await newOrder()
        const begun = await take(0, order, await sendAs(0, '/payments', order))
        const ends = await Promise.all(clients.map((i) => payOrder(i, order, begun)))
        expect(new Set(ends).size).toBe(1)
      }
    },
    TIMEOUT_MS,
  )
})

/** Takes all challenges of an order, and answers its transaction. */
async function payOrder(client: number, order: object, begun: readonly string[]): Promise<string> {
  const hints = [...begun]
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    const answer = await sendAs(client, '/payments', { ...order, hints })
    if (answer.status === 201) return answer.body.transactionId
    expect([answer.status, answer.body]).toEqual([200, answer.body])
    hints.push(...(await take(client, { ...order, hints }, answer)))
  }
  throw new Error('the challenges do not end')
}
