import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { simulatedRef } from '../acquirers/simulator.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ work: true })
})
afterAll(() => payments.close())

it('opens one dispute over the whole first capture of a card that is disputed, and none for other cards', async () => {
  const app = await createTestApp(payments)
  const { id: merchantId } = await createTestMerchant(payments, app, { test: true })
  const { db } = payments.database
  const source = await customerPayment(payments, merchantId, { number: '1000000000020000' })
  const charge = await payments.app.inject({
    method: 'POST',
    url: `/merchants/${merchantId}/transactions`,
    headers: app.headers,
    payload: { transactionId: source, currency: 'EUR', amount: 300 },
  })
  const { id } = charge.json().transaction
  const other = await customerPayment(payments, merchantId)
  await capture(payments, app, other, 300)
  await capture(payments, app, id, 100)
  const disputes = () => db.selectFrom('disputes').selectAll().where('merchant_id', '=', merchantId).execute()
  await expect.poll(disputes).toHaveLength(1)
  expect(await disputes()).toEqual([
    {
      transaction_id: id,
      amount: 100n,
      covered: 100n,
      excess: 0n,
      excess_gross: 0n,
      status: 'open',
      reason_code: 4853,
      acquirer_ref: simulatedRef(id),
      merchant_id: merchantId,
      id: anyId,
      created: expect.any(Date),
      currency: 'EUR',
      reason_title: 'Cardholder dispute',
      due: expect.any(Date),
      resolved: null,
    },
  ])
  await capture(payments, app, id, 200)
  expect(await db.selectFrom('outbox').select('kind').where('merchant_id', '=', merchantId).execute()).toEqual([])
})
