import { anyId } from '@trestle/testing/any-text.ts'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../../test/bodies.ts'
import { customerPayment } from '../../../test/customer-payment.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'
import { processingError } from '../../transactions/processing-error.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
let merchantId: string
let transactionId: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
  transactionId = await customerPayment(payments, merchantId, { number: '4100000000000000' })
})
afterAll(() => payments.close())

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const send = (method: 'GET' | 'POST', url: string, payload?: object | string, headers: object = {}) =>
  payments.app.inject({
    method,
    url,
    headers: { ...member.headers, ...headers },
    ...(payload === undefined ? {} : { payload }),
  })
const save = (payload: object | string, headers: object = {}, id = merchantId) =>
  send('POST', `/merchants/${id}/cards`, payload, headers)
const idOf = (response: LightMyRequestResponse) => response.json().card.id

describe('POST /merchants/:merchantId/cards', () => {
  const forms: readonly [string, () => object | string, object, string | null][] = [
    ['JSON', () => ({ transactionId }), {}, null],
    ['JSON with notes', () => ({ transactionId, notes: ' Anna ' }), {}, ' Anna '],
    ['form', () => `transactionId=${transactionId}&notes=Anna`, FORM, 'Anna'],
    ['form without notes', () => `transactionId=${transactionId}&notes=`, FORM, null],
  ]

  it.each(forms)('201: saves the card of a transaction, as %s', async (_kind, body, headers) => {
    const response = await save(body(), headers)
    expect([response.statusCode, response.body]).toEqual([201, `{"card":{"id":"${idOf(response)}"}}\n`])
  })

  it.each(forms)('200: shows a card that was kept, as %s', async (_kind, body, headers, notes) => {
    const id = idOf(await save(body(), headers))
    const shown = await send('GET', `/cards/${id}`)
    expect([shown.statusCode, shown.json()]).toEqual([
      200,
      {
        card: {
          id,
          merchantId,
          created: createdOf(id),
          bin: '410000',
          last4: '0000',
          expiry: '2066-08-31T23:59:59.999Z',
          scheme: 'visa',
          notes,
          deleted: null,
        },
      },
    ])
  })

  it('201: charges a saved card, until it is deleted', async () => {
    const cardId = idOf(await save({ transactionId }))
    const charge = () =>
      send('POST', `/merchants/${merchantId}/transactions`, {
        cardId,
        currency: 'EUR',
        amount: 5,
        transactionId: false,
      })
    const response = await charge()
    expect(response.statusCode).toBe(201)
    const { id } = response.json().transaction
    const { db } = payments.database
    expect(await db.selectFrom('transactions').select('source_id').where('id', '=', id).execute()).toEqual([
      { source_id: transactionId },
    ])
    await db
      .updateTable('cards')
      .set({ deleted: new Date(0) })
      .where('id', '=', cardId)
      .execute()
    expect(statusAndBody(await charge())).toEqual(
      refusedField('cardId', 'must be of a successful payment of this merchant', 'UNKNOWN'),
    )
    expect((await send('GET', `/cards/${cardId}`)).json()).toEqual({
      card: {
        deleted: '1970-01-01T00:00:00.000Z',
        id: cardId,
        merchantId,
        created: createdOf(cardId),
        bin: '410000',
        last4: '0000',
        expiry: '2066-08-31T23:59:59.999Z',
        scheme: 'visa',
        notes: null,
      },
    })
  })

  it('201: answers a repeat with the same card', async () => {
    const first = await save({ transactionId }, { 'idempotency-key': 'k' })
    const again = await save({ transactionId }, { 'idempotency-key': 'k' })
    expect([again.statusCode, again.body]).toEqual([201, first.body])
    expect([first, again].map(({ headers }) => headers['idempotent-replayed'])).toEqual([undefined, 'true'])
  })

  it.each<[object, string, string, string]>([
    [{ transactionId: undefined }, 'transactionId', 'REQUIRED', 'is required'],
    [{ transactionId: 5 }, 'transactionId', 'TYPE', 'must be a string'],
    [{ transactionId: 'x' }, 'transactionId', 'FORMAT', 'must be 24 hexadecimal digits'],
    [{ transactionId: UNKNOWN_ID }, 'transactionId', 'UNKNOWN', 'must be of a successful payment of this merchant'],
    [{ notes: 'x'.repeat(1_001) }, 'notes', 'RANGE', 'must be at most 1000 characters'],
    [{ notes: 5 }, 'notes', 'TYPE', 'must be a string'],
    [{ notes: '\0' }, 'notes', 'FORMAT', 'must not contain U+0000 or lone surrogates'],
  ])('400: refuses %j', async (changes, field, code, message) => {
    const response = await save({ transactionId, ...changes })
    expect([response.statusCode, response.json()]).toEqual([400, [{ field, message, code }]])
  })

  it('400: refuses a transaction of another merchant', async () => {
    const other = await createTestMerchant(payments, member, { test: true })
    const foreign = await customerPayment(payments, other.id)
    expect(statusAndBody(await save({ transactionId: foreign }))).toEqual(
      refusedField('transactionId', 'must be of a successful payment of this merchant', 'UNKNOWN'),
    )
  })

  it('400: refuses with processing error 28 for a merchant that may not save cards, also when the request is repeated', async () => {
    const { id } = await createTestMerchant(payments, member, { test: true })
    const source = await customerPayment(payments, id)
    const { db } = payments.database
    const { claim } = await db.selectFrom('merchants').select('claim').where('id', '=', id).executeTakeFirstOrThrow()
    const set = (canSaveCard: boolean) =>
      db
        .updateTable('merchants')
        .set({ claim: JSON.stringify({ ...claim, canSaveCard }) })
        .where('id', '=', id)
        .execute()
    await set(false)
    const first = await save({ transactionId: source }, { 'idempotency-key': 'k' }, id)
    expect([first.statusCode, first.json()]).toEqual([400, processingError(28)])
    await set(true)
    const again = await save({ transactionId: source }, { 'idempotency-key': 'k' }, id)
    expect([again.statusCode, again.body, again.headers['idempotent-replayed']]).toEqual([400, first.body, 'true'])
    expect(statusAndBody(await save({ transactionId: source }, {}, id))).toEqual([201, { card: { id: anyId } }])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    expect(statusAndBody(await save({}, basic('x'), UNKNOWN_ID))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant before the body is judged', async () => {
    expect(statusAndBody(await save({}, stranger.headers, UNKNOWN_ID))).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the body is judged', async () => {
    expect(statusAndBody(await save({}, stranger.headers))).toEqual(refusals.forbidden)
  })
})
