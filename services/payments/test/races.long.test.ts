import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { customerPayment } from './customer-payment.ts'
import { countLockWaits } from './lock-waits.ts'
import {
  createTestApp,
  createTestMerchant,
  secondProcess,
  startPayments,
  type TestApp,
  type TestPayments,
} from './payments-app.ts'

let payments: TestPayments
/** The same service in another process. */
let other: TestPayments
let app: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 30_000 })
  other = await secondProcess(payments)
  app = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, app, { test: true })).id
})
afterAll(async () => {
  await other.close()
  await payments.close()
})

const send = ({ app: service }: TestPayments, url: string, payload: object, headers: object = {}) =>
  service.inject({ method: 'POST', url, payload, headers: { ...app.headers, ...headers } })
const service = (index: number) => (index % 2 === 0 ? payments : other)
const countBy = (statuses: readonly number[]) =>
  Object.fromEntries(
    [...new Set(statuses)].map((status) => [status, statuses.filter((each) => each === status).length]),
  )
const lines = async () =>
  (await payments.app.inject({ url: `/merchants/${merchantId}/lines?limit=1000`, headers: app.headers })).json()

describe('races', () => {
  // ASVS 2.3.4
  it('400: refuses all but one of 100 full captures of one transaction at once, and writes one line', async () => {
    const id = await customerPayment(payments, merchantId)
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, index) => send(service(index), `/transactions/${id}/captures`, { amount: 300 })),
    )
    expect(countBy(responses.map(({ statusCode }) => statusCode))).toEqual({ 201: 1, 400: 99 })
    expect((await lines()).filter(({ transactionId }: { transactionId: string }) => transactionId === id)).toHaveLength(
      1,
    )
  })

  it.each([
    ['one process', () => payments],
    ['two processes', service],
  ])('2 requests with one Idempotency-Key at once in %s have one effect and one answer', async (_where, at) => {
    const id = await customerPayment(payments, merchantId, { amount: 1_000 })
    const key = { 'idempotency-key': 'two' }
    const responses = await Promise.all(
      [0, 1].map((index) => send(at(index), `/transactions/${id}/captures`, { amount: 10 }, key)),
    )
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([201, 201])
    expect(responses[1]?.body).toBe(responses[0]?.body)
    const replayed = responses.filter(({ headers }) => headers['idempotent-replayed'] === 'true')
    expect(replayed).toHaveLength(1)
    expect((await lines()).filter(({ transactionId }: { transactionId: string }) => transactionId === id)).toHaveLength(
      1,
    )
  })

  it('1,000 requests with one Idempotency-Key at once have one effect, and no answer tells of another', async () => {
    const id = await customerPayment(payments, merchantId, { amount: 100_000 })
    const key = { 'idempotency-key': 'thousand' }
    const responses = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        send(service(index), `/transactions/${id}/captures`, { amount: 10 }, key),
      ),
    )
    const done = responses.filter(({ statusCode }) => statusCode === 201)
    for (const { statusCode, headers } of responses) {
      if (statusCode !== 201) expect([statusCode, headers['retry-after']]).toEqual([409, '1'])
    }
    expect(new Set(done.map(({ body }) => body)).size).toBe(1)
    expect(done.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1)
    expect((await lines()).filter(({ transactionId }: { transactionId: string }) => transactionId === id)).toHaveLength(
      1,
    )
  })

  it('captures and voids that compete for what is pending never take more than there is', async () => {
    const id = await customerPayment(payments, merchantId, { amount: 100 })
    const operations = Array.from({ length: 60 }, (_, index) => (index % 3 === 0 ? 'voids' : 'captures'))
    const responses = await Promise.all(
      operations.map((operation, index) => send(service(index), `/transactions/${id}/${operation}`, { amount: 7 })),
    )
    expect(countBy(responses.map(({ statusCode }) => statusCode))).toEqual({ 201: 14, 400: 46 })
    const { transaction } = (await payments.app.inject({ url: `/transactions/${id}`, headers: app.headers })).json()
    expect(transaction.pendingAmount).toBe(2)
    expect(transaction.capturedAmount + transaction.voidedAmount).toBe(98)
  })

  it('201: an alert of fraud that waits for its transaction leaves the balance to those who hold it', async () => {
    const id = await customerPayment(payments, merchantId)
    const owner = new pg.Client({ connectionString: payments.url })
    await owner.connect()
    await owner.query('BEGIN')
    await owner.query('SELECT FROM payments.transactions WHERE merchant_id = $1 AND id = $2 FOR UPDATE', [
      merchantId,
      id,
    ])
    const reporting = Promise.resolve(send(payments, `/test/transactions/${id}/frauds`, {}))
    await expect.poll(() => countLockWaits(payments)).toBeGreaterThan(0)
    const balance = 'SELECT FROM payments.merchant_balances WHERE merchant_id = $1 FOR UPDATE NOWAIT'
    expect((await owner.query(balance, [merchantId])).rowCount).toBe(1)
    await owner.query('COMMIT')
    await owner.end()
    expect((await reporting).statusCode).toBe(201)
  })

  it('lines of a merchant become visible in the order of their ids', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => customerPayment(payments, merchantId)))
    let isOver = false
    const seen: string[] = []
    const read = async () => {
      for (let after = '0'.repeat(24); ; ) {
        const wasOver = isOver
        const url = `/merchants/${merchantId}/lines?limit=1000&after=${after}`
        const page = (await payments.app.inject({ url, headers: app.headers })).json()
        seen.push(...page.map(({ id }: { id: string }) => id))
        after = page.at(-1)?.id ?? after
        if (wasOver && page.length === 0) return
      }
    }
    const reading = read()
    await Promise.all(
      ids.flatMap((id, index) =>
        [1, 2, 3].map((amount) => send(service(index + amount), `/transactions/${id}/captures`, { amount })),
      ),
    )
    isOver = true
    await reading
    const all = await payments.app.inject({
      url: `/merchants/${merchantId}/lines?limit=1000`,
      headers: app.headers,
    })
    expect(seen).toEqual(
      all
        .json()
        .map(({ id }: { id: string }) => id)
        .toReversed(),
    )
  })
})
