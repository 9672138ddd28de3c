import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shownTransaction, trailEntry } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import { readLinks, recomputeChain } from '../../test/ledger-fixtures.ts'
import { capture } from '../../test/operations.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { CHAIN_START } from '../ledger/chain.ts'
import { callExpireAuthorizations } from '../transactions/transaction-repository.ts'
import { expireAuthorizations } from './expire-authorizations.ts'

let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments({ authorizationExpiryDays: 7 })
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

const merchant = async () => (await createTestMerchant(payments, app, { test: true, currency: 'EUR' })).id
const advance = async (id: string, days: number) => {
  const response = await payments.app.inject({
    method: 'POST',
    url: `/test/merchants/${id}/clock`,
    headers: app.headers,
    payload: { advance: days * 86_400 },
  })
  expect(response.statusCode).toBe(201)
}
const get = async (id: string) => {
  const response = await payments.app.inject({ url: `/transactions/${id}`, headers: app.headers })
  return response.json().transaction
}

describe('authorization expiry', () => {
  it('voids the rest of an authorization that has expired, with an ordinary void entry', async () => {
    const id = await merchant()
    const whole = await customerPayment(payments, id, { amount: 300 })
    const part = await customerPayment(payments, id, { amount: 300 })
    const none = await customerPayment(payments, id, { amount: 300 })
    await capture(payments, app, part, 100)
    await capture(payments, app, none, 300)
    const voidedBefore = await customerPayment(payments, id, { amount: 300 })
    const first = await payments.app.inject({
      method: 'POST',
      url: `/transactions/${voidedBefore}/voids`,
      headers: app.headers,
      payload: { amount: 30 },
    })
    expect(first.statusCode).toBe(201)
    await advance(id, 6)
    expect(await get(whole)).toEqual(
      shownTransaction({ id: whole, merchantId: id, created: createdOf(whole), pendingAmount: 300, trail: [] }),
    )
    await advance(id, 1)
    const voided = { void: true, balance: 0, fee: { flat: 0, rate: 0 }, descriptor: 'Coffee & John' }
    const [entry] = (await get(whole)).trail
    expect(await get(whole)).toEqual(
      shownTransaction({
        id: whole,
        merchantId: id,
        created: createdOf(whole),
        pendingAmount: 0,
        voidedAmount: 300,
        trail: [trailEntry({ amount: 300, void: true })],
      }),
    )
    expect(entry).toEqual({ ...voided, id: expect.any(String), created: expect.any(String), amount: 300 })
    expect(await get(part)).toEqual(
      shownTransaction({
        id: part,
        merchantId: id,
        created: createdOf(part),
        pendingAmount: 0,
        capturedAmount: 100,
        voidedAmount: 200,
        trail: [
          trailEntry({ amount: 100, balance: 74, fee: { flat: 25, rate: 1 }, capture: true, lineId: anyId }),
          trailEntry({ ...voided, amount: 200 }),
        ],
      }),
    )
    expect(await get(voidedBefore)).toEqual(
      shownTransaction({
        id: voidedBefore,
        merchantId: id,
        created: createdOf(voidedBefore),
        pendingAmount: 0,
        voidedAmount: 300,
        trail: [trailEntry({ amount: 30, void: true }), trailEntry({ ...voided, amount: 270 })],
      }),
    )
    expect((await get(none)).trail).toHaveLength(1)
    recomputeChain(await readLinks(payments.database.db, id), CHAIN_START)
    const events = await payments.database.db
      .selectFrom('events')
      .select(['type', 'pending', 'voided'])
      .where('object_id', '=', whole)
      .execute()
    expect(events).toEqual([{ type: 'transaction.voided', pending: 0n, voided: 300n }])
    await capture(payments, app, await customerPayment(payments, id), 1)
  })

  it('voids each transaction once, in batches, also when many processes do so at once', async () => {
    const id = await merchant()
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.push(await customerPayment(payments, id, { amount: 10 }))
    await payments.database.db
      .updateTable('merchant_balances')
      .set({ clock_offset: 8n * 86_400n })
      .where('merchant_id', '=', id)
      .execute()
    const call = (limit: number) =>
      callExpireAuthorizations(payments.database.pools, { merchantId: id, days: 7, limit })
    expect(await call(2)).toEqual({ lookedAt: 2, voided: 2 })
    const rest = await Promise.all([call(2), call(2), call(2)])
    expect(rest.reduce((sum, { voided }) => sum + voided, 0)).toBeLessThanOrEqual(3)
    await call(10)
    expect(await call(10)).toEqual({ lookedAt: 0, voided: 0 })
    for (const transactionId of ids) expect((await get(transactionId)).trail).toHaveLength(1)
  })

  it('voids at other merchants when the row of one is locked, and fails so that the job runs again', async () => {
    const [locked, other] = [await merchant(), await merchant()]
    const [held, free] = [await customerPayment(payments, locked), await customerPayment(payments, other)]
    await payments.database.db
      .updateTable('merchant_balances')
      .set({ clock_offset: 8n * 86_400n })
      .where('merchant_id', 'in', [locked, other])
      .execute()
    const expire = () => expireAuthorizations({ ...payments.deps, db: payments.database.db })
    await payments.database.db.transaction().execute(async (trx) => {
      await trx.selectFrom('merchant_balances').selectAll().where('merchant_id', '=', locked).forUpdate().execute()
      await expect(expire()).rejects.toThrow('1 merchants were left out')
    })
    expect([await get(held), await get(free)]).toEqual([
      shownTransaction({ id: held, merchantId: locked, created: createdOf(held), pendingAmount: 300 }),
      shownTransaction({
        id: free,
        merchantId: other,
        created: createdOf(free),
        pendingAmount: 0,
        voidedAmount: 300,
        trail: [trailEntry({ amount: 300, void: true })],
      }),
    ])
    expect(await expire()).toBe('done')
    expect(await get(held)).toEqual(
      shownTransaction({
        id: held,
        merchantId: locked,
        created: createdOf(held),
        pendingAmount: 0,
        voidedAmount: 300,
        trail: [trailEntry({ amount: 300, void: true })],
      }),
    )
  })

  it('voids by a clock beyond the years that an id can hold', async () => {
    const id = await merchant()
    const transactionId = await customerPayment(payments, id)
    await advance(id, 36_000)
    expect(await get(transactionId)).toEqual(
      shownTransaction({
        id: transactionId,
        merchantId: id,
        created: createdOf(transactionId),
        pendingAmount: 0,
        voidedAmount: 300,
        trail: [trailEntry({ amount: 300, void: true })],
      }),
    )
  })
})
