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
  const batches: (NewBatch | undefined)[] = []
  for (let turn = 0; turn < 3; turn += 1) {
    const made = await payments.owner.db
      .transaction()
      .execute((trx) => insertWaitingBatch(trx, { debtor, payoutsMax: 2 }, async () => {}))
    batches.push(made)
  }
  expect(batches.map((batch) => batch && [batch.message.transfers.length, batch.waiting])).toEqual([
    [2, 1],
    [1, 0],
    undefined,
  ])
  const exported = batches.flatMap((batch) => batch?.message.transfers ?? []).map(({ payoutId }) => payoutId)
  expect(exported.sort()).toEqual(payouts.sort())
})
