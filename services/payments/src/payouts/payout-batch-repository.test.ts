import { afterAll, beforeAll, expect, it } from 'vitest'
import { debtor, paidOutLiveMerchant } from '../../test/operator-payouts.ts'
import { createTestApp, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { TEST_IBAN } from '../../test/payout-requests.ts'
import type { PayerAddress } from './pain-001.ts'
import { callInsertBatch, insertWaitingBatch, type NewBatch, readBatch } from './payout-batch-repository.ts'

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

it('a batch leaves out a Swiss account until the payer has an address, which the batch keeps', async () => {
  const member = await createTestApp(payments)
  const swiss = await paidOutLiveMerchant(payments, member, 'EUR', { bank: { iban: 'CH9300762011623852957' } })
  const wanted = { version: 'pain.001.001.09', timeZone: 'UTC', executionDate: undefined, payoutsMax: 9 } as const
  const exportFrom = (address: PayerAddress | undefined) =>
    payments.owner.db.transaction().execute((trx) => {
      const payer = { ...debtor, iban: TEST_IBAN, address }
      return insertWaitingBatch(trx, { ...wanted, debtor: payer }, callInsertBatch)
    })
  const reason = 'it crosses the border of the EEA, and PAYMENTS_PAYOUT_ADDRESS does not name the town of the payer'
  expect(await exportFrom(undefined)).toEqual({
    message: undefined,
    waiting: 0,
    held: [{ ...swiss, merchantName: 'Shop of EUR', reason }],
  })
  const address = { town: 'København', country: 'DK' }
  const { message } = await exportFrom(address)
  expect(message?.debtor.address).toEqual(address)
  expect(await readBatch(payments.owner.db, message?.id ?? '')).toEqual({ verdict: 'as-exported', message })
})
