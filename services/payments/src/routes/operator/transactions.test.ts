import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, statusAndBody } from '../../../test/bodies.ts'
import { customerPayment } from '../../../test/customer-payment.ts'
import { createLiveMerchant } from '../../../test/live-merchant.ts'
import { capture } from '../../../test/operations.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'
import { createStubAcquirer } from '../../../test/stub-acquirer.ts'
import { listFoundFigures } from '../../transactions/operator-transaction-repository.ts'

let payments: TestPayments
let member: TestApp
let shopId: string
let other: Awaited<ReturnType<typeof createLiveMerchant>>
/**
 * Transactions, oldest first:
 * - two of a test shop, of EUR 3.00 and 10.00
 * - a charge that was refused
 * - a charge with a reference of four digits
 * - two of a live merchant. The second is a charge of EUR 3.00 at an acquirer.
 */
let ids: readonly string[]
beforeAll(async () => {
  const north = createStubAcquirer()
  payments = await startPayments({
    operators: testOperators,
    acquirers: new Map([['north', north]]),
    refundLimits: { once: new Map([['EUR', 100]]), daily: new Map([['EUR', 250]]) },
  })
  member = await createTestApp(payments)
  shopId = (await createTestMerchant(payments, member, { currency: 'EUR', test: true, name: 'Corner' })).id
  const first = await customerPayment(payments, shopId, { number: '4111111111114321' })
  const poor = await customerPayment(payments, shopId, { number: '1000000000090007', amount: 1_000 })
  const refused = await charge(shopId, { transactionId: poor, currency: 'EUR', amount: 70 }, 400)
  const referred = await charge(shopId, { transactionId: first, currency: 'EUR', amount: 55, reference: '1000' }, 201)
  other = await createLiveMerchant(payments, member, { north })
  const charged = await other.charge(300)
  const all = await list('merchant='.concat(other.id))
  const source = all.find((id) => id !== charged) ?? ''
  ids = [first, poor, refused, referred, source, charged]
})
afterAll(() => payments.close())

/** Charges a card again and returns the id of the newest transaction. */
async function charge(merchantId: string, payload: object, status: number): Promise<string> {
  const url = `/merchants/${merchantId}/transactions`
  const answer = await payments.app.inject({ method: 'POST', url, headers: member.headers, payload })
  expect(answer.statusCode).toBe(status)
  return (await list(`merchant=${merchantId}&limit=1`))[0] ?? ''
}

const get = (
  path: string,
  { role = 'viewer', accept = '*/*' }: { role?: 'viewer' | 'support'; accept?: string } = {},
) => payments.app.inject({ url: `/operator/transactions${path}`, headers: { ...operatorHeaders(role), accept } })
async function list(query: string): Promise<readonly string[]> {
  const { transactions } = expectBody(200, await get(`?${query}`))
  return transactions.map(({ id }: { id: string }) => id)
}
const asMember = async (url: string) => (await payments.app.inject({ url, headers: member.headers })).json()

describe('GET /operator/transactions', () => {
  it('200: lists the transactions of all merchants, newest first, without what customers have written', async () => {
    const custom = { note: 'x'.repeat(10_000) }
    await payments.database.db
      .updateTable('transactions')
      .set({ custom: JSON.stringify(custom) })
      .where('id', '=', ids[0] ?? '')
      .execute()
    const shown = await Promise.all(ids.map(async (id) => (await asMember(`/transactions/${id}`)).transaction))
    expect(shown[0].custom).toEqual(custom)
    const listed = shown.map(({ custom: _custom, ...members }) => members)
    expect(statusAndBody(await get(''))).toEqual([200, { transactions: listed.toReversed() }])
    // The query does not read `custom` at all, because a CSV file has up to 10,000 rows.
    const found = [{ id: ids[0] ?? '', merchantId: shopId, trailLength: 0 }]
    const [read] = await listFoundFigures(payments.app.deps.operatorPools, found)
    expect([read?.id, read?.custom]).toEqual([ids[0], null])
    await payments.database.db
      .updateTable('transactions')
      .set({ custom: null })
      .where('id', '=', ids[0] ?? '')
      .execute()
  })

  it.each<[string, () => string, number[]]>([
    ['an id, in any case', () => `search=${ids[1]?.toUpperCase()}`, [1]],
    ['the last four digits of a card', () => 'search=4321', [3, 0]],
    ['an amount', () => 'search=300', [5, 4, 0]],
    ['an amount in major units', () => 'search=3.00', [5, 4, 0]],
    ['an amount with its currency', () => 'search=eur%203', [5, 4, 0]],
    ['an amount of another currency', () => 'search=DKK%203.00', []],
    ['what is an amount and a reference', () => 'search=1000', [3, 1]],
    ['what nothing has', () => 'search=9999', []],
    ['a reference in part', () => 'search=100', []],
    ['a merchant', () => `merchant=${shopId}`, [3, 2, 1, 0]],
    ['a merchant and an amount', () => `merchant=${shopId}&search=300`, [0]],
    ['those that were refused', () => 'successful=n', [2]],
    ['those that were authorized', () => 'successful=true', [5, 4, 3, 1, 0]],
    ['tests', () => 'test=true', [3, 2, 1, 0]],
    ['live ones', () => 'test=false&successful=true&order=asc', [4, 5]],
    ['live ones of an amount', () => 'test=false&search=300', [5, 4]],
  ])('200: finds by %s only the transactions that match', async (_what, query, expected) => {
    expect(await list(query())).toEqual(expected.map((index) => ids[index]))
  })

  it('200: Link leads through all pages of a search, each transaction once, in both orders', async () => {
    for (const order of ['asc', 'desc']) {
      const seen: string[] = []
      let query: string | undefined = `limit=2&search=300&order=${order}`
      for (let pages = 0; query !== undefined && pages < 9; pages++) {
        const answer = await get(`?${query}`)
        seen.push(...expectBody(200, answer).transactions.map(({ id }: { id: string }) => id))
        query = /^<\/operator\/transactions\?(.+)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
      }
      const found = [ids[0], ids[4], ids[5]]
      expect(seen).toEqual(order === 'asc' ? found : found.toReversed())
    }
  })

  it('200: a page ends early before trails that are too long together, and Link leads to them', async () => {
    const owner = await createTestMerchant(payments, member, { currency: 'EUR', test: true })
    const long = [await customerPayment(payments, owner.id, { amount: 999 }), await customerPayment(payments, owner.id)]
    await payments.database.db.updateTable('transactions').set({ trail_length: 400 }).where('id', 'in', long).execute()
    const answer = await get(`?merchant=${owner.id}`)
    const shown = expectBody(200, answer).transactions.map(({ id }: { id: string }) => id)
    const next = /^<\/operator\/transactions\?(.+)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
    expect([shown, await list(next ?? '')]).toEqual([[long[1]], [long[0]]])
    await payments.database.db.updateTable('transactions').set({ trail_length: 0 }).where('id', 'in', long).execute()
  })

  it('200: answers the same rows as CSV, with the amounts and what was refused', async () => {
    const answer = await get(`?merchant=${shopId}&limit=1`, { accept: 'text/csv' })
    const [first, poor, refused, referred] = ids.map((id) => `${id},${shopId},${createdOf(id)}`)
    const after = 'Coffee & John'
    expect([answer.statusCode, answer.headers['content-type'], answer.body.split('\r\n')]).toEqual([
      200,
      'text/csv; charset=utf-8',
      [
        'id,merchantId,created,test,currency,amount,pendingAmount,capturedAmount,refundedAmount,voidedAmount,disputedAmount,reference,descriptor,card.bin,card.last4,card.scheme,tds,recurring,successful,error.code,error.message',
        `${referred},true,EUR,55,55,0,0,0,0,1000,${after},411111,4321,visa,,true,true,,`,
        `${refused},true,EUR,70,0,0,0,0,0,,${after},100000,0007,visa,,true,false,7,Insufficient funds`,
        `${poor},true,EUR,1000,1000,0,0,0,0,,${after},100000,0007,visa,,false,true,,`,
        `${first},true,EUR,300,300,0,0,0,0,,${after},411111,4321,visa,,false,true,,`,
        '',
      ],
    ])
  })

  it.each([
    ['search=%00', 'search', 'must not contain U+0000 or lone surrogates', 'FORMAT'],
    ['merchant=x', 'merchant', 'must be 24 hexadecimal digits', 'FORMAT'],
    ['test=maybe', 'test', 'must be a boolean', 'TYPE'],
    ['cursor=x', 'cursor', 'must be a cursor of this list', 'FORMAT'],
  ])('400: refuses %s', async (query, field, message, code) => {
    expect(statusAndBody(await get(`?${query}`))).toEqual([400, [{ field, message, code }]])
  })
})

describe('GET /operator/transactions?search= in several currencies', () => {
  it('200: finds an amount in major units in each currency with its own decimals', async () => {
    const owner = await createTestMerchant(payments, member, { currency: 'EUR', test: true })
    const pay = (currency: string, amount: number) => customerPayment(payments, owner.id, { currency, amount })
    const euro = await pay('EUR', 1_250)
    const forint = await pay('HUF', 100_000)
    const dinar = await pay('KWD', 12_500)
    const yen = await pay('JPY', 1_250)
    const find = (search: string) => list(`merchant=${owner.id}&${new URLSearchParams({ search })}`)
    expect(await find('12.50')).toEqual([dinar, euro])
    expect(await find('12.500')).toEqual([dinar])
    expect(await find('HUF 1000')).toEqual([forint])
    expect(await find('HUF 1,000.00')).toEqual([forint])
    expect(await find('1,250')).toEqual([yen])
    expect(await find('1250')).toEqual([yen, euro])
  })
})

/** Returns an event without its object. */
const summaryOf = ({
  id,
  type,
  created,
}: {
  readonly id: string
  readonly type: string
  readonly created: string
}) => ({
  id,
  type,
  created,
})

describe('GET /operator/transactions/:transactionId', () => {
  it('200: shows a transaction with its journals, events without their objects, disputes and alerts, and what may be done', async () => {
    const id = await customerPayment(payments, shopId, { amount: 500 })
    await capture(payments, member, id, 300)
    const send = (url: string, payload: object) =>
      payments.app.inject({ method: 'POST', url, payload, headers: member.headers })
    await send(`/transactions/${id}/refunds`, { amount: 40 })
    const { dispute } = (await send(`/test/transactions/${id}/disputes`, { amount: 60 })).json()
    const { fraud } = (await send(`/test/transactions/${id}/frauds`, {})).json()
    const events = await asMember(`/merchants/${shopId}/events?limit=4`)
    const { transaction } = await asMember(`/transactions/${id}`)
    const journal = (kind: string, amounts: readonly [string, number][]) => ({
      id: anyId,
      created: anyTime,
      kind,
      entries: amounts.map(([account, amount]) => ({ account, currency: 'EUR', amount })),
    })
    expect(statusAndBody(await get(`/${id.toUpperCase()}`))).toEqual([
      200,
      {
        transaction,
        merchant: { id: shopId, name: 'Corner' },
        threeDS: null,
        journals: [
          journal('refund', [
            ['scheme_receivable', 40],
            ['merchant', -40],
          ]),
          journal('capture', [
            ['scheme_receivable', -300],
            ['merchant', 300],
            ['merchant', -29],
            ['fee_income', 29],
          ]),
        ],
        events: events.map(summaryOf),
        disputes: [dispute],
        frauds: [fraud],
        limits: { capture: 200, refund: 200, void: 200, dispute: 200 },
      },
    ])
    expect(events.map(({ type }: { type: string }) => type)).toEqual([
      'fraud.created',
      'dispute.opened',
      'transaction.refunded',
      'transaction.captured',
    ])
  })

  it('200: names the acquirer, how the customer was authenticated, and what is left of the refund quota of support', async () => {
    const id = ids[5] ?? ''
    await payments.database.db.updateTable('transactions').set({ tds: 'full' }).where('id', '=', id).execute()
    const { transaction, ...rest } = expectBody(200, await get(`/${id}`, { role: 'support' }))
    const [created] = await asMember(`/merchants/${other.id}/events?limit=1`)
    expect(rest).toEqual({
      merchant: { id: other.id },
      acquirer: 'north',
      acquirerRef: expect.any(String),
      threeDS: { outcome: 'full' },
      journals: [],
      events: [summaryOf(created)],
      disputes: [],
      frauds: [],
      limits: { capture: 300, refund: 0, void: 300, dispute: 0, refundLimit: 100, refundAllowance: 250 },
    })
    expect([transaction.id, created.type]).toEqual([id, 'transaction.created'])
  })

  it('200: shows a smaller refund quota after a refund of support, and none in a currency without limits', async () => {
    const [euro, krone] = [
      await customerPayment(payments, shopId, { amount: 500 }),
      await customerPayment(payments, shopId, { amount: 500, currency: 'DKK' }),
    ]
    await capture(payments, member, euro, 300)
    const url = `/operator/transactions/${euro}/refunds`
    const headers = { ...operatorHeaders('support'), 'idempotency-key': 'part' }
    const refunded = await payments.app.inject({ method: 'POST', url, headers, payload: { amount: 90 } })
    const answers = await Promise.all([euro, krone].map((id) => get(`/${id}`, { role: 'support' })))
    expect([refunded.statusCode, ...answers.map((answer) => expectBody(200, answer).limits)]).toEqual([
      201,
      { capture: 200, refund: 210, void: 200, dispute: 210, refundLimit: 100, refundAllowance: 160 },
      { capture: 500, refund: 0, void: 500, dispute: 0, refundLimit: 0, refundAllowance: 0 },
    ])
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no transaction has', async (id) => {
    expect(statusAndBody(await get(`/${id}`))).toEqual(refusals.notFound)
  })
})
