import { anyId } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, shownTransaction, statusAndBody, trailEntry } from '../../../test/bodies.ts'
import { customerPayment } from '../../../test/customer-payment.ts'
import { disputeRequests } from '../../../test/dispute-requests.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
})
afterAll(() => payments.close())

const send = (operation: string, id: string, payload: object | string, headers: object = {}) =>
  payments.app.inject({
    method: 'POST',
    url: `/transactions/${id}/${operation}`,
    payload,
    headers: { ...member.headers, ...headers },
  })

/** Sets today's rate of a currency, in units of the currency per euro. */
const importRate = (currency: string, rate: number) =>
  sql`SELECT ${sql.table('import_rates')}(jsonb_build_array(jsonb_build_object(
    'date', (now() AT TIME ZONE 'UTC')::date, 'currency', ${currency}::text, 'rate', ${rate}::numeric
  )))`.execute(payments.database.db)

describe('POST /transactions/:transactionId/refunds', () => {
  it('201: refunds captured money, and keeps the captured amount', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    await send('captures', id, { amount: 200, descriptor: 'Beans' })
    const response = await send('refunds', id, { amount: 120, descriptor: 'Beans back', reference: 'r' })
    expect(response.statusCode).toBe(201)
    const { transaction } = response.json()
    expect(transaction).toEqual(
      shownTransaction({
        id,
        merchantId,
        created: createdOf(id),
        currency: 'DKK',
        pendingAmount: 100,
        capturedAmount: 200,
        refundedAmount: 120,
        voidedAmount: 0,
        trail: [
          trailEntry({
            amount: 200,
            balance: 11,
            fee: { flat: 186, rate: 3 },
            descriptor: 'Beans',
            capture: true,
            lineId: anyId,
          }),
          trailEntry({
            amount: 120,
            balance: -120,
            descriptor: 'Beans back',
            refund: true,
            reference: 'r',
            lineId: anyId,
          }),
        ],
      }),
    )
    const entry = transaction.trail[1]
    expect(entry).toEqual({
      id: entry?.id,
      refund: true,
      created: createdOf(entry?.id ?? ''),
      amount: 120,
      balance: -120,
      fee: { flat: 0, rate: 0 },
      descriptor: 'Beans back',
      reference: 'r',
      lineId: entry?.lineId,
    })
  })

  it('201: accepts a form, and takes the descriptor of the payment', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    await send('captures', id, { amount: 200, descriptor: 'Beans' })
    await send('refunds', id, { amount: 120, descriptor: 'Beans back' })
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const rest = await send('refunds', id, 'amount=80', form)
    expect(expectBody(201, rest).transaction.trail[2]).toEqual(
      trailEntry({ amount: 80, balance: -80, descriptor: 'Coffee & John', refund: true, lineId: anyId }),
    )
  })

  it('201: reverses at the rates of the captures, in total exactly their worth', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'USD', amount: 1_000 })
    for (const amount of [333, 333, 334]) await send('captures', id, { amount })
    const refunds = [100, 400, 500]
    for (const amount of refunds) expect((await send('refunds', id, { amount })).statusCode).toBe(201)
    const read = await payments.app.inject({ url: `/transactions/${id}`, headers: member.headers })
    const trail: readonly { balance: number; fee: { flat: number; rate: number } }[] = read.json().transaction.trail
    const grosses = trail.map(({ balance, fee }) => balance + fee.flat + fee.rate)
    expect(grosses.reduce((sum, gross) => sum + gross, 0)).toBe(0)
    expect(trail).toHaveLength(6)
  })

  it('201: takes back what the captures brought from where a lost dispute has ended, also at another rate', async () => {
    const { id: shop } = await createTestMerchant(payments, member, { currency: 'EUR', test: true })
    const id = await customerPayment(payments, shop, { currency: 'NOK', amount: 2_000 })
    for (const rate of [10, 8]) {
      await importRate('NOK', rate)
      await send('captures', id, { amount: 1_000 })
    }
    const { open, close } = disputeRequests(payments, member)
    const dispute = await open(id, { amount: 1_000 })
    await close(dispute.id, 'lost')
    const response = await send('refunds', id, { amount: 400 })
    // The dispute has taken the first capture. The refund takes 400 of the second one's 1,000, exchanged for 125.
    const [at, lineId] = [{ date: new Date().toISOString().slice(0, 10) }, anyId]
    const trail = [
      { amount: 1_000, capture: true, balance: 74, fee: { flat: 25, rate: 1 }, exchange: { rate: '0.1', ...at } },
      { amount: 1_000, capture: true, balance: 98, fee: { flat: 25, rate: 2 }, exchange: { rate: '0.125', ...at } },
      { amount: 1_000, dispute: { id: dispute.id, lost: true }, balance: -2_600, fee: { flat: 2_500, rate: 0 } },
      { amount: 400, refund: true, balance: -50 },
    ].map((entry) => trailEntry({ lineId, ...entry }))
    const moved = { capturedAmount: 2_000, refundedAmount: 400, disputedAmount: 1_000 }
    const transaction = shownTransaction({ id, merchantId: shop, currency: 'NOK', amount: 2_000, ...moved, trail })
    expect([response.statusCode, response.json()]).toEqual([201, { transaction }])
  })

  it('400: refuses more than was captured and not refunded, with the possible amount', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    const refuse = async (amount: number, most: string) => {
      const response = await send('refunds', id, { amount })
      expect([response.statusCode, response.json()]).toEqual([
        400,
        [{ field: 'amount', message: `Can refund at most ${most}`, code: 'LIMIT_EXCEEDED' }],
      ])
    }
    await refuse(1, 'DKK 0.00')
    await send('captures', id, { amount: 200 })
    await refuse(201, 'DKK 2.00')
    await send('refunds', id, { amount: 150 })
    await refuse(51, 'DKK 0.50')
  })

  it('403: refuses for a merchant without the permission to refund', async () => {
    const { id: withheld } = await createTestMerchant(payments, member, { test: true })
    const id = await customerPayment(payments, withheld)
    await send('captures', id, { amount: 200 })
    await payments.database.db
      .updateTable('merchants')
      .set({ claim: sql`claim || '{"canRefund": false}'` })
      .where('id', '=', withheld)
      .execute()
    expect(statusAndBody(await send('refunds', id, { amount: 1 }))).toEqual(refusals.forbidden)
  })

  it('201: answers a repeat with the same bytes', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    await send('captures', id, { amount: 300 })
    const key = { 'idempotency-key': 'refund' }
    const first = await send('refunds', id, { amount: 300 }, key)
    const again = await send('refunds', id, { amount: 300 }, key)
    expect([first.statusCode, again.statusCode, again.body]).toEqual([201, 201, first.body])
  })
})
