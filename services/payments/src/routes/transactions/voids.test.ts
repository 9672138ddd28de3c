import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shownTransaction, statusAndBody, trailEntry } from '../../../test/bodies.ts'
import { customerPayment } from '../../../test/customer-payment.ts'
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

describe('POST /transactions/:transactionId/voids', () => {
  it('201: voids part of the pending amount', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await send('voids', id, 'amount=260&reference=v', form)
    expect(response.statusCode).toBe(201)
    const { transaction } = response.json()
    expect(transaction).toEqual(
      shownTransaction({
        id,
        merchantId,
        created: createdOf(id),
        currency: 'DKK',
        pendingAmount: 40,
        capturedAmount: 0,
        voidedAmount: 260,
        trail: [trailEntry({ amount: 260, void: true, reference: 'v' })],
      }),
    )
    const [entry] = transaction.trail
    expect(entry).toEqual({
      id: entry?.id,
      void: true,
      created: createdOf(entry?.id ?? ''),
      amount: 260,
      balance: 0,
      fee: { flat: 0, rate: 0 },
      descriptor: 'Coffee & John',
      reference: 'v',
    })
  })

  it('201: captures what a void has left', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    await send('voids', id, { amount: 260 })
    expect(statusAndBody(await send('captures', id, { amount: 40 }))).toEqual([
      201,
      {
        transaction: shownTransaction({
          ...{ id, merchantId, created: createdOf(id), currency: 'DKK' },
          ...{ pendingAmount: 0, capturedAmount: 40, voidedAmount: 260 },
          trail: [
            trailEntry({ amount: 260, void: true }),
            trailEntry({
              ...{ amount: 40, capture: true, lineId: anyId },
              ...{ balance: 40 - 186 - 1, fee: { flat: 186, rate: 1 } },
            }),
          ],
        }),
      },
    ])
  })

  it('400: refuses captured money, with the possible amount', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'EUR', amount: 300 })
    await send('captures', id, { amount: 200 })
    const response = await send('voids', id, { amount: 101 })
    expect([response.statusCode, response.json()]).toEqual([
      400,
      [{ field: 'amount', message: 'Can void at most EUR 1.00', code: 'LIMIT_EXCEEDED' }],
    ])
  })

  it('201: writes no line, and changes no balance', async () => {
    const { id: other } = await createTestMerchant(payments, member, { test: true })
    const id = await customerPayment(payments, other)
    const get = (url: string) => payments.app.inject({ url, headers: member.headers })
    const before = (await get(`/merchants/${other}`)).body
    await send('voids', id, { amount: 300 })
    expect((await get(`/merchants/${other}/lines?limit=1`)).body).toBe('[\n]\n')
    expect((await get(`/merchants/${other}`)).body).toBe(before)
  })
})
