import { anyId } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../../../test/bodies.ts'
import { customerPayment } from '../../../../test/customer-payment.ts'
import { capture } from '../../../../test/operations.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
})
afterAll(() => payments.close())

const iban = 'DK5000400440116243'
const post = (url: string, payload: object = {}, headers: object = {}) =>
  payments.app.inject({ method: 'POST', url, headers: { ...member.headers, ...headers }, payload })
const get = (url: string, headers: object = {}) =>
  payments.app.inject({ url, headers: { ...member.headers, ...headers } })
const payOut = (id: string, headers: object = {}) => post(`/test/merchants/${id}/payouts`, {}, headers)
const advance = (id: string, days: number) => post(`/test/merchants/${id}/clock`, { advance: days * 86_400 })
const merchant = async (changes: object = {}) =>
  (await createTestMerchant(payments, member, { test: true, currency: 'EUR', bank: { iban }, ...changes })).id
const captured = async (id: string, amount: number) => {
  const transactionId = await customerPayment(payments, id, { amount })
  await capture(payments, member, transactionId, amount)
  return transactionId
}
const balance = async (id: string) => {
  const row = await payments.database.db
    .selectFrom('merchant_balances')
    .select('balance')
    .where('merchant_id', '=', id)
    .executeTakeFirstOrThrow()
  return row.balance
}
const payoutOf = (response: Awaited<ReturnType<typeof payOut>>) => {
  expect(response.statusCode, response.body).toBe(201)
  return response.json().payout
}
const skip = (message: string) => [{ field: 'balance', message, code: 'LIMIT_EXCEEDED' }]

describe('POST /test/merchants/:merchantId/payouts', () => {
  const payOutCaptured = async () => {
    const id = await merchant()
    await captured(id, 10_000)
    const response = await payOut(id)
    return { id, response, payout: payoutOf(response) }
  }

  it('201: pays out all that is available, and settles it', async () => {
    // The fee is 135 basis points and EUR 0.25.
    const { id, response, payout } = await payOutCaptured()
    expect([response.statusCode, payout]).toEqual([
      201,
      {
        id: payout.id,
        merchantId: id,
        created: createdOf(payout.id),
        amount: 9_840,
        currency: 'EUR',
        status: 'settled',
        lineId: payout.lineId,
        bank: { iban },
        test: true,
      },
    ])
    expect(await balance(id)).toBe(0n)
  })

  it('200: shows a payout as it was answered', async () => {
    const { response, payout } = await payOutCaptured()
    const shown = await get(`/payouts/${payout.id}`)
    expect([shown.statusCode, shown.body]).toEqual([200, response.body])
  })

  it('200: lists a payout as it was answered', async () => {
    const { id, response } = await payOutCaptured()
    const list = await get(`/merchants/${id}/payouts?limit=5`)
    expect([list.statusCode, list.body]).toEqual([200, `[\n${response.body.slice('{"payout":'.length, -2)}\n]\n`])
  })

  it('201: writes a line of the payout', async () => {
    const { id, payout } = await payOutCaptured()
    const { db } = payments.database
    const line = await db.selectFrom('lines').selectAll().where('id', '=', payout.lineId).executeTakeFirst()
    expect(line).toEqual({
      kind: 'payout',
      balance: -9_840n,
      fee: 0n,
      description: `Payout ${payout.id}`,
      transaction_id: null,
      amount: null,
      currency: null,
      balance_after: 0n,
      merchant_id: id,
      id: payout.lineId,
      created: expect.any(Date),
      journal_id: anyId,
      test: true,
      hash: expect.any(Buffer),
      hash_version: 1,
    })
  })

  it('201: books the payout, and then its settlement', async () => {
    const { payout } = await payOutCaptured()
    const { db } = payments.database
    const entries = await db
      .selectFrom('entries')
      .innerJoin('journals', (join) =>
        join.onRef('journals.merchant_id', '=', 'entries.merchant_id').onRef('journals.id', '=', 'journal_id'),
      )
      .select(['kind', 'account', 'amount'])
      .where('cause_id', '=', payout.id)
      .orderBy('journal_id')
      .orderBy('seq')
      .execute()
    expect(entries).toEqual([
      { kind: 'payout', account: 'merchant', amount: -9_840n },
      { kind: 'payout', account: 'payout_clearing', amount: 9_840n },
      { kind: 'payoutSettled', account: 'payout_clearing', amount: -9_840n },
      { kind: 'payoutSettled', account: 'bank', amount: 9_840n },
    ])
    const events = await db
      .selectFrom('events')
      .select('type')
      .where('object_id', '=', payout.id)
      .orderBy('id')
      .execute()
    expect(events).toEqual([{ type: 'payout.created' }, { type: 'payout.settled' }])
  })

  it('201: pays out captures from the moment when they are old enough', async () => {
    const id = await merchant()
    await captured(id, 10_000)
    const { db } = payments.database
    const { created } = await db
      .selectFrom('lines')
      .select('created')
      .where('merchant_id', '=', id)
      .executeTakeFirstOrThrow()
    const { rows } = await sql<{ old: bigint; young: bigint }>`
      SELECT ${sql.table('not_yet_due')}(${id}, ${created}) AS old,
        ${sql.table('not_yet_due')}(${id}, ${created}::timestamptz - interval '1 millisecond') AS young`.execute(db)
    expect(rows).toEqual([{ old: 0n, young: 9_840n }])
  })

  it('201: pays out once a day of the merchant’s clock', async () => {
    const id = await merchant()
    await captured(id, 10_000)
    const first = await payOut(id)
    await captured(id, 10_000)
    expect((await payOut(id)).body).toBe(first.body)
    await advance(id, 1)
    expect(payoutOf(await payOut(id)).id).not.toBe(payoutOf(first).id)
    expect(await balance(id)).toBe(0n)
  })

  it('201: makes one payout when many requests come at once', async () => {
    const id = await merchant()
    await captured(id, 10_000)
    const responses = await Promise.all(Array.from({ length: 20 }, () => payOut(id)))
    expect(new Set(responses.map(({ body }) => body)).size).toBe(1)
    expect(await balance(id)).toBe(0n)
  })

  it('201: keeps back the worth of open disputes, at the captures’ own rates', async () => {
    const id = await merchant({ currency: 'DKK' })
    const transactionId = await captured(id, 1_000)
    await post(`/test/transactions/${transactionId}/disputes`, { amount: 300 })
    const before = await balance(id)
    const { amount } = payoutOf(await payOut(id))
    expect([BigInt(amount), await balance(id)]).toEqual([before - 2_237n, 2_237n])
  })

  it('400: names the reason why nothing is paid out', async () => {
    const poor = await merchant()
    expect(statusAndBody(await payOut(poor))).toEqual([400, skip('below_minimum')])
    await captured(poor, 126)
    expect(statusAndBody(await payOut(poor))).toEqual([400, skip('below_minimum')])
    expect(await balance(poor)).toBe(99n)
    await captured(poor, 127)
    expect((await payOut(poor)).statusCode).toBe(201)
    const homeless = await merchant({ bank: undefined })
    await captured(homeless, 10_000)
    expect(statusAndBody(await payOut(homeless))).toEqual([400, skip('no_iban')])
    const indebted = await merchant()
    const transactionId = await captured(indebted, 100)
    const dispute = await post(`/test/transactions/${transactionId}/disputes`)
    const { id } = dispute.json().dispute
    await post(`/test/disputes/${id}/outcomes`, { outcome: 'lost' })
    const response = await payOut(indebted)
    expect([response.statusCode, response.json()]).toEqual([400, skip('negative')])
  })

  it('201: pays out the minimum itself', async () => {
    const id = await merchant()
    await captured(id, 127)
    expect(await balance(id)).toBe(100n)
    expect(payoutOf(await payOut(id)).amount).toBe(100)
  })

  it('201: answers a repeat with the same bytes, also on another day', async () => {
    const id = await merchant()
    const key = { 'idempotency-key': 'k' }
    await captured(id, 10_000)
    const first = await payOut(id, key)
    await advance(id, 1)
    await captured(id, 10_000)
    const again = await payOut(id, key)
    expect([again.statusCode, again.body, again.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
  })

  it('201: pays out under a key whose payout was refused before', async () => {
    const id = await merchant()
    const key = { 'idempotency-key': 'k' }
    expect(statusAndBody(await payOut(id, key))).toEqual([400, skip('below_minimum')])
    await captured(id, 10_000)
    expect(payoutOf(await payOut(id, key)).amount).toBe(9_840)
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    expect(statusAndBody(await payOut(UNKNOWN_ID, basic('x')))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant', async () => {
    expect(statusAndBody(await payOut(UNKNOWN_ID))).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member', async () => {
    const id = await merchant()
    expect(statusAndBody(await payOut(id, stranger.headers))).toEqual(refusals.forbidden)
  })

  it('403: pays out nothing of a live merchant', async () => {
    const live = await merchant({ test: false })
    expect(statusAndBody(await payOut(live))).toEqual(refusals.forbidden)
  })
})
