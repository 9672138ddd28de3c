import { afterAll, beforeAll, expect, it } from 'vitest'
import { debtor, paidOutLiveMerchant } from '../../test/operator-payouts.ts'
import { createTestApp, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { insertWaitingBatch, type NewBatch } from './payout-batch-repository.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

it('a batch takes as many payouts as it may have, and the next ones take the rest', async () => {
  const member = await createTestApp(payments)
  const payouts: string[] = []
  for (const currency of ['EUR', 'DKK', 'EUR']) {
    payouts.push((await paidOutLiveMerchant(payments, member, currency)).payoutId)
  }
  const batches: NewBatch[] = []
  const wanted = { debtor, version: 'pain.001.001.09', timeZone: 'UTC', executionDate: undefined } as const
  for (let turn = 0; turn < 3; turn += 1) {
    const made = await payments.owner.db
      .transaction()
      .execute((trx) => insertWaitingBatch(trx, { ...wanted, payoutsMax: 2 }, async () => {}))
    batches.push(made)
  }
  expect(batches.map(({ message, waiting }) => [message?.transfers.length, waiting])).toEqual([
    [2, 1],
    [1, 0],
    [undefined, 0],
  ])
  const exported = batches.flatMap(({ message }) => message?.transfers ?? []).map(({ payoutId }) => payoutId)
  expect(exported.sort()).toEqual(payouts.sort())
})
