import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { createLiveMerchant } from '../../test/live-merchant.ts'
import { capture } from '../../test/operations.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from '../../test/stub-acquirer.ts'

let north: StubAcquirer
let payments: TestPayments
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({ acquirers: new Map([['north', north]]), work: true })
})
afterAll(() => payments.close())

it('sends captures of live money to the acquirer, from the outbox through the queue', async () => {
  const app = await createTestApp(payments)
  const { id: merchantId } = await createTestMerchant(payments, app, { currency: 'EUR' })
  const { db } = payments.database
  await db.updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', merchantId).execute()
  const source = await customerPayment(payments, merchantId, { number: '4242424242424242' })
  const charge = await payments.app.inject({
    method: 'POST',
    url: `/merchants/${merchantId}/transactions`,
    headers: app.headers,
    payload: { transactionId: source, currency: 'EUR', amount: 500 },
  })
  const { id } = charge.json().transaction
  const submitted = Promise.withResolvers<void>()
  north.answers.submit = async () => {
    submitted.resolve()
    return { verdict: 'accepted' }
  }
  await capture(payments, app, id, 200)
  await submitted.promise
  expect(north.received.tasks).toEqual([
    {
      kind: 'capture',
      transactionId: id,
      money: { currency: 'EUR', amount: 200 },
      operationId: anyId,
      merchantId,
      acquirerRef: expect.any(String),
      descriptor: 'Coffee & John',
    },
  ])
})

it('hands over a capture while all that one other merchant may hand over at once waits for the acquirer', async () => {
  const app = await createTestApp(payments)
  const [busy, other] = [
    await createLiveMerchant(payments, app, { north }),
    await createLiveMerchant(payments, app, { north }),
  ]
  const [source, next] = [await busy.charge(1_000), await other.charge(1_000)]
  const answered = Promise.withResolvers<void>()
  const seen: string[] = []
  north.answers.submit = async ({ transactionId }) => {
    seen.push(transactionId)
    if (transactionId === source) await answered.promise
    return { verdict: 'accepted' }
  }
  for (let count = 0; count < 20; count += 1) await busy.book('capture', source, 10)
  await expect.poll(() => seen).toEqual(Array.from({ length: 8 }, () => source))
  await other.book('capture', next, 10)
  await expect.poll(() => seen).toContain(next)
  answered.resolve()
  await expect.poll(() => seen.length, { timeout: 60_000 }).toBe(21)
})
