import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AUDIT_FULL, lastAudit, operatorAudit, withoutAudit } from '../../test/audit.ts'
import { shownCard, shownTransaction, trailEntry } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { disputesCommand } from './disputes.ts'

let payments: TestPayments
let app: TestApp
let merchantId: string
let transactionId: string
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  // A live merchant, because only real disputes arrive on paper.
  merchantId = (await createTestMerchant(payments, app, { currency: 'EUR' })).id
  transactionId = await customerPayment(payments, merchantId, { number: '4242424242424242', amount: 1_000 })
  await capture(payments, app, transactionId, 1_000)
})
afterAll(() => payments.close())

const { run, json, readJson } = commandRunner([disputesCommand], () => operatorDeps(payments))
const get = async (url: string) => (await payments.app.inject({ url, headers: app.headers })).json()

describe('payments disputes', () => {
  it('open, lost, won: records disputes of live money, once for each reference', async () => {
    const opened = await readJson(
      z.looseObject({ id: z.string() }),
      'disputes',
      'open',
      transactionId,
      '--amount',
      '300',
      '--reason',
      '4837',
      '--reference',
      'paper 1',
    )
    expect(opened).toEqual({
      id: opened.id,
      transactionId,
      amount: 300,
      currency: 'EUR',
      status: 'open',
      due: expect.any(String),
    })
    expect(await json('disputes', 'open', transactionId, '--reference', 'paper 1')).toEqual(opened)
    expect(await lastAudit(payments)).toEqual(operatorAudit('dispute.open', { disputeId: opened.id }, merchantId))
    for (const _ of [1, 2])
      expect(await json('disputes', 'lost', opened.id)).toEqual({
        status: 'lost',
        id: anyId,
        transactionId,
        amount: 300,
        currency: 'EUR',
        due: anyTime,
      })
    await expect(run('disputes', 'won', opened.id)).rejects.toHaveProperty(
      'message',
      `dispute ${opened.id} is already lost`,
    )
    const rest = await readJson(z.looseObject({ id: z.string() }), 'disputes', 'open', transactionId)
    expect(rest).toEqual({ amount: 700, id: anyId, transactionId, currency: 'EUR', status: 'open', due: anyTime })
    await expect(run('disputes', 'open', transactionId)).rejects.toHaveProperty(
      'message',
      'can dispute at most EUR 0.00',
    )
    expect(await json('disputes', 'won', rest.id)).toEqual({
      status: 'won',
      id: anyId,
      transactionId,
      amount: 700,
      currency: 'EUR',
      due: anyTime,
    })
    const trail = [
      trailEntry({ amount: 1_000, balance: 961, fee: { flat: 25, rate: 14 }, capture: true, lineId: anyId }),
      trailEntry({
        amount: 300,
        balance: -2_800,
        fee: { flat: 2_500, rate: 0 },
        dispute: { id: opened.id, lost: true },
        lineId: anyId,
      }),
      trailEntry({ amount: 700, dispute: { id: rest.id, won: true } }),
    ]
    const card = shownCard({ bin: '424242', last4: '4242' })
    expect((await get(`/transactions/${transactionId}`)).transaction).toEqual(
      shownTransaction({
        ...{ id: transactionId, merchantId, test: false, amount: 1_000, capturedAmount: 1_000, disputedAmount: 300 },
        ...{ card, trail },
      }),
    )
  })

  it('open, lost: are made with their entry in the audit log, or not at all', async () => {
    const paid = await customerPayment(payments, merchantId, { number: '4242424242424242', amount: 1_000 })
    await capture(payments, app, paid, 1_000)
    const disputes = async () =>
      payments.database.db.selectFrom('disputes').select(['id', 'status']).where('transaction_id', '=', paid).execute()
    const disputed = async () => (await get(`/transactions/${paid}`)).transaction.disputedAmount
    await withoutAudit(payments, () => expect(run('disputes', 'open', paid)).rejects.toThrow(AUDIT_FULL))
    expect([await disputes(), await disputed()]).toEqual([[], 0])
    const { id } = await readJson(z.looseObject({ id: z.string() }), 'disputes', 'open', paid)
    await withoutAudit(payments, () => expect(run('disputes', 'lost', id)).rejects.toThrow(AUDIT_FULL))
    expect([await disputes(), await disputed()]).toEqual([[{ id, status: 'open' }], 1_000])
    await run('disputes', 'lost', id)
    expect([await disputes(), await lastAudit(payments)]).toEqual([
      [{ id, status: 'lost' }],
      operatorAudit('dispute.lost', { disputeId: id }, merchantId),
    ])
  })

  it('fails for objects that do not exist, and for malformed values', async () => {
    await expect(run('disputes', 'open', UNKNOWN_ID)).rejects.toHaveProperty(
      'message',
      `there is no transaction ${UNKNOWN_ID}`,
    )
    await expect(run('disputes', 'won', UNKNOWN_ID)).rejects.toHaveProperty(
      'message',
      `there is no dispute ${UNKNOWN_ID}`,
    )
    await expect(run('disputes', 'open', transactionId, '--reason', '1')).rejects.toHaveProperty(
      'message',
      "error: option '--reason <code>' argument '1' is invalid. Allowed choices are 4853, 104, 131, 133, 136, 137, 4808, 4834, 4837.",
    )
    await expect(run('disputes', 'open', transactionId, '--amount', '0')).rejects.toHaveProperty(
      'message',
      '--amount is a number of minor units',
    )
  })
})
