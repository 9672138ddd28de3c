import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, statusAndBody } from '../../../test/bodies.ts'
import { customerPayment } from '../../../test/customer-payment.ts'
import { capture } from '../../../test/operations.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
/** Disputes, oldest first: two of one merchant, of which the second is won, and one of another merchant. */
let disputes: Dispute[]
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  member = await createTestApp(payments)
  const [one, other] = [await shop(), await shop()]
  const [first, second, third] = [await dispute(one), await dispute(one), await dispute(other)]
  const won = await send(`/test/disputes/${second.id}/outcomes`, { outcome: 'won' })
  disputes = [first, won.json().dispute, third]
})
afterAll(() => payments.close())

interface Dispute {
  readonly id: string
  readonly merchantId: string
  readonly transactionId: string
  readonly created: string
  readonly due: string
}

const send = (url: string, payload: object) =>
  payments.app.inject({ method: 'POST', url, payload, headers: member.headers })
const shop = async () => (await createTestMerchant(payments, member, { currency: 'EUR', test: true })).id
async function dispute(merchantId: string): Promise<Dispute> {
  const id = await customerPayment(payments, merchantId, { amount: 300 })
  await capture(payments, member, id, 300)
  return (await send(`/test/transactions/${id}/disputes`, { amount: 100, reason: { code: 4853 } })).json().dispute
}
const get = (query: string, accept = '*/*') =>
  payments.app.inject({ url: `/operator/disputes?${query}`, headers: { ...operatorHeaders('viewer'), accept } })

describe('GET /operator/disputes', () => {
  it('200: lists the disputes of all merchants, newest first, as members see them', async () => {
    expect(statusAndBody(await get(''))).toEqual([200, { disputes: disputes.toReversed() }])
  })

  it.each([
    ['status=won', () => [1]],
    ['status=open', () => [2, 0]],
    ['order=asc', () => [0, 1, 2]],
    [`merchant=${UNKNOWN_ID}`, () => []],
  ])('200: %s lists only disputes of that state', async (query, expected) => {
    const rows = expected().map((index) => disputes[index])
    expect(statusAndBody(await get(query))).toEqual([200, { disputes: rows }])
  })

  it('200: filters by merchant and by transaction, in upper case too, alone and together', async () => {
    const [first, second, third] = disputes
    const queries = [
      `merchant=${first?.merchantId.toUpperCase()}`,
      `transaction=${third?.transactionId}`,
      `merchant=${first?.merchantId}&status=won&order=asc`,
      `merchant=${first?.merchantId}&transaction=${third?.transactionId}`,
    ]
    const answers = await Promise.all(queries.map((query) => get(query)))
    expect(answers.map(statusAndBody)).toEqual(
      [[second, first], [third], [second], []].map((found) => [200, { disputes: found }]),
    )
  })

  it('200: Link leads through all pages with the same filters, each dispute once', async () => {
    const seen: Dispute[] = []
    let query: string | undefined = 'limit=1&status=open'
    for (let pages = 0; query !== undefined && pages < 9; pages++) {
      const answer = await get(query)
      seen.push(...expectBody(200, answer).disputes)
      query = /^<\/operator\/disputes\?(.+)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
    }
    expect(seen).toEqual([disputes[2], disputes[0]])
  })

  it('200: answers the same rows as CSV, beyond the limit of a page', async () => {
    const answer = await get('limit=1&status=open', 'text/csv')
    const lineOf = ({ id, merchantId, transactionId, created, due }: Dispute) =>
      `${id},${merchantId},${transactionId},${created},100,EUR,4853,Cardholder dispute,${due},open,`
    const header = 'id,merchantId,transactionId,created,amount,currency,reason.code,reason.title,due,status,resolved'
    const rows = [disputes[2], disputes[0]].flatMap((each) => (each ? [lineOf(each)] : []))
    expect([answer.statusCode, answer.headers['content-type'], answer.headers.vary]).toEqual([
      200,
      'text/csv; charset=utf-8',
      'accept',
    ])
    expect(answer.body.split('\r\n')).toEqual([header, ...rows, ''])
  })

  it.each([
    ['status=closed', 'status', expect.any(String), expect.any(String)],
    ['merchant=x', 'merchant', 'must be 24 hexadecimal digits', 'FORMAT'],
    [
      `cursor=${Buffer.from(`merchants ${UNKNOWN_ID}`).toString('base64url')}`,
      'cursor',
      'must be a cursor of this list',
      'FORMAT',
    ],
  ])('400: refuses %s', async (query, field, message, code) => {
    expect(statusAndBody(await get(query))).toEqual([400, [{ field, message, code }]])
  })
})

describe('GET /operator/disputes/:disputeId', () => {
  const getOne = (id = '') =>
    payments.app.inject({ url: `/operator/disputes/${id}`, headers: operatorHeaders('viewer') })

  it('200: shows a dispute as the list does, open or decided, also by its id in upper case', async () => {
    const [open, won] = disputes
    const answers = await Promise.all([getOne(open?.id), getOne(won?.id.toUpperCase())])
    expect(answers.map(statusAndBody)).toEqual([
      [200, { dispute: open }],
      [200, { dispute: won }],
    ])
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no dispute has', async (id) => {
    expect(statusAndBody(await getOne(id))).toEqual(refusals.notFound)
  })
})
