import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, statusAndBody } from '../../test/bodies.ts'
import { disputeRequests, type ShownDispute } from '../../test/dispute-requests.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
let requests: ReturnType<typeof disputeRequests>
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  requests = disputeRequests(payments, member)
})
afterAll(() => payments.close())

describe('GET /disputes', () => {
  let id: string
  let first: string
  let disputes: ShownDispute[]
  beforeAll(async () => {
    id = (await createTestMerchant(payments, member, { test: true })).id
    first = await requests.captured(id)
    const second = await requests.captured(id)
    disputes = [
      await requests.open(first, { amount: 1 }),
      await requests.open(second, { amount: 2 }),
      await requests.open(first, { amount: 3 }),
    ]
  })
  const list = async (query: string, headers: object = {}) =>
    expectBody(200, await requests.get(`/disputes?${query}`, headers))

  it('200: pages newest first, oldest first after a cursor, and by transaction', async () => {
    const [a, b, c] = disputes
    const all = `limit=10&filter[merchantId]=${id}`
    expect(await list(all)).toEqual([c, b, a])
    expect(await list(`limit=2&filter[merchantId]=${id.toUpperCase()}`)).toEqual([c, b])
    expect(await list(`${all}&before=${b?.id}`)).toEqual([a])
    expect(await list(`${all}&after=${a?.id}`)).toEqual([b, c])
    expect(await list(`${all}&filter[transactionId]=${first}`)).toEqual([c, a])
    expect(await list(`${all}&filter[transactionId]=${first}&after=${a?.id}`)).toEqual([c])
    expect(await list(`${all}&filter[test]=y`)).toEqual([c, b, a])
    expect(await list(`${all}&filter[test]=0`)).toEqual([])
    expect(await list(`${all}&filter[transactionId]=${UNKNOWN_ID}`)).toEqual([])
    const empty = (await createTestMerchant(payments, member, { test: true })).id
    const answer = await requests.get(`/disputes?limit=1&filter[merchantId]=${empty}`)
    expect([answer.statusCode, answer.body]).toEqual([200, '[\n]\n'])
  })

  it.each<[string, readonly [string, string, string][]]>([
    [
      '',
      [
        ['limit', 'REQUIRED', 'is required'],
        ['filter.merchantId', 'REQUIRED', 'is required'],
      ],
    ],
    [
      'limit=0',
      [
        ['limit', 'RANGE', 'must be at least 1'],
        ['filter.merchantId', 'REQUIRED', 'is required'],
      ],
    ],
    ['limit=1&filter[merchantId]=x', [['filter.merchantId', 'FORMAT', 'must be 24 hexadecimal digits']]],
    [
      'limit=1&filter[merchantId]=ID&filter[transactionId]=x',
      [['filter.transactionId', 'FORMAT', 'must be 24 hexadecimal digits']],
    ],
    ['limit=1&filter[merchantId]=ID&before=x', [['before', 'FORMAT', 'must be 24 hexadecimal digits']]],
  ])('400: refuses %j', async (query, refused) => {
    const response = await requests.get(`/disputes?${query.replace('ID', id)}`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual(refused.map(([field, code, message]) => ({ field, message, code })))
  })

  it('401: refuses an unknown key before it looks for a merchant or a dispute', async () => {
    const refusal = async (url: string, headers: object = {}) => statusAndBody(await requests.get(url, headers))
    expect(await refusal('/disputes', basic('x'))).toEqual(refusals.unauthorized)
    const [{ id: disputeId } = { id: '' }] = disputes
    expect(await refusal(`/disputes/${disputeId}`, basic('x'))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant or dispute before the query is judged', async () => {
    const refusal = async (url: string, headers: object = {}) => statusAndBody(await requests.get(url, headers))
    for (const rest of ['&limit=1', '']) {
      expect(await refusal(`/disputes?filter[merchantId]=${UNKNOWN_ID}${rest}`)).toEqual(refusals.notFound)
    }
    expect(await refusal(`/disputes/${UNKNOWN_ID}`)).toEqual(refusals.notFound)
    expect(await refusal('/disputes/nonsense')).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the query is judged', async () => {
    const refusal = async (url: string, headers: object = {}) => statusAndBody(await requests.get(url, headers))
    for (const rest of ['&limit=1', '']) {
      expect(await refusal(`/disputes?filter[merchantId]=${id}${rest}`, stranger.headers)).toEqual(refusals.forbidden)
    }
    const [{ id: disputeId } = { id: '' }] = disputes
    expect(await refusal(`/disputes/${disputeId}`, stranger.headers)).toEqual(refusals.forbidden)
  })
})
