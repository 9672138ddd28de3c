import { anyId, anyTime } from '@trestle/testing/any-value.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { callCloseDispute } from '../disputes/dispute-repository.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
let merchantId: string
beforeAll(async () => {
  // Twenty requests at once wait for each other, on a busy machine for longer than the default.
  payments = await startPayments({ lockTimeoutMs: 2_000 })
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
})
afterAll(() => payments.close())

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const post = (url: string, payload: object | string = {}, headers: object = {}) =>
  payments.app.inject({ method: 'POST', url, headers: { ...member.headers, ...headers }, payload })
const get = (url: string, headers: object = {}) =>
  payments.app.inject({ url, headers: { ...member.headers, ...headers } })
const captured = async (amount = 300, id = merchantId) => {
  const transactionId = await customerPayment(payments, id)
  await capture(payments, member, transactionId, amount)
  return transactionId
}
interface Shown {
  readonly id: string
  readonly created: string
  readonly resolved?: string
}
const open = async (transactionId: string, payload: object = {}) => {
  const response = await post(`/test/transactions/${transactionId}/disputes`, payload)
  expect(response.statusCode).toBe(201)
  return response.json<{ dispute: Shown }>().dispute
}
const close = (id: string, outcome: string, headers: object = {}) =>
  post(`/test/disputes/${id}/outcomes`, { outcome }, headers)
const amounts = (id: string) =>
  payments.database.db
    .selectFrom('transactions')
    .select(['captured', 'refunded', 'disputed', 'lost', 'trail_length'])
    .where('id', '=', id)
    .executeTakeFirst()
const fields = (field: string, code: string, message: unknown = expect.any(String)) => [{ field, message, code }]

/** The end of the day 20 days later. */
function dueOf(created: string): string {
  const day = new Date(Date.parse(created) + 20 * 86_400_000).toISOString().slice(0, 10)
  return `${day}T23:59:59.999Z`
}

function expected(id: string, transactionId: string, changes: object = {}) {
  const created = createdOf(id)
  return {
    id,
    merchantId,
    transactionId,
    created,
    amount: 300,
    currency: 'EUR',
    reason: { code: 4853, title: 'Cardholder dispute' },
    due: dueOf(created),
    status: 'open',
    ...changes,
  }
}

describe('POST /test/transactions/:transactionId/disputes', () => {
  it.each<[string, object | string, object, object]>([
    ['JSON without a body', '', { 'content-type': 'application/json' }, {}],
    [
      'JSON',
      { amount: 100, reason: { code: 104 } },
      {},
      { amount: 100, reason: { code: 104, title: 'Fraud, card absent' } },
    ],
    ['form', 'amount=100&reason[code]=137', FORM, { amount: 100, reason: { code: 137, title: 'Cancelled' } }],
  ])('201: opens one, as %s, and GET and the list show it', async (_kind, payload, headers, changes) => {
    const transactionId = await captured()
    const response = await post(`/test/transactions/${transactionId}/disputes`, payload, headers)
    expect(response.statusCode).toBe(201)
    const { dispute } = response.json<{ dispute: Shown }>()
    expect(dispute).toEqual(expected(dispute.id, transactionId, changes))
    expect((await get(`/disputes/${dispute.id}`)).body).toBe(response.body)
    const list = await get(`/disputes?limit=10&filter[merchantId]=${merchantId}&filter[transactionId]=${transactionId}`)
    expect(list.body).toBe(`[\n${response.body.slice('{"dispute":'.length, -2)}\n]\n`)
    const amount = BigInt('amount' in changes ? 100 : 300)
    expect(await amounts(transactionId)).toEqual({
      captured: 300n,
      disputed: amount,
      lost: 0n,
      trail_length: 1,
      refunded: 0n,
    })
  })

  it('400: refuses to dispute more than was captured, also when many requests come at once', async () => {
    const transactionId = await captured(200)
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => post(`/test/transactions/${transactionId}/disputes`, { amount: 60 })),
    )
    expect(responses.map(({ statusCode }) => statusCode).sort()).toEqual([201, 201, 201, 400, 400, 400, 400, 400])
    expect(await amounts(transactionId)).toEqual({
      disputed: 180n,
      captured: 200n,
      refunded: 0n,
      lost: 0n,
      trail_length: 1,
    })
    const refused = await post(`/test/transactions/${transactionId}/disputes`, { amount: 21 })
    expect([refused.statusCode, refused.json()]).toEqual([
      400,
      fields('amount', 'LIMIT_EXCEEDED', 'Can dispute at most EUR 0.20'),
    ])
    await open(transactionId)
    expect((await post(`/test/transactions/${transactionId}/disputes`)).json()).toEqual(
      fields('amount', 'LIMIT_EXCEEDED', 'Can dispute at most EUR 0.00'),
    )
  })

  it.each<[object, string, string]>([
    [{ amount: 0 }, 'amount', 'RANGE'],
    [{ amount: '5' }, 'amount', 'TYPE'],
    [{ reason: { code: 1 } }, 'reason.code', 'UNKNOWN'],
    [{ reason: 4853 }, 'reason', 'TYPE'],
  ])('400: refuses %j', async (payload, field, code) => {
    const response = await post(`/test/transactions/${await captured()}/disputes`, payload)
    expect([response.statusCode, response.json()]).toEqual([400, fields(field, code)])
  })

  it('201: answers a repeat with the dispute as it was', async () => {
    const url = `/test/transactions/${await captured()}/disputes`
    const first = await post(url, {}, { 'idempotency-key': 'k' })
    const { id } = first.json<{ dispute: Shown }>().dispute
    await close(id, 'won')
    const again = await post(url, {}, { 'idempotency-key': 'k' })
    expect([again.statusCode, again.body, again.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
    const other = await post(url, { amount: 1 }, { 'idempotency-key': 'k' })
    expect([other.statusCode, other.json()]).toEqual([400, fields('Idempotency-Key', 'MISMATCH')])
  })

  it('201: the due date follows the clock of the merchant', async () => {
    const { id } = await createTestMerchant(payments, member, { test: true })
    const transactionId = await captured(300, id)
    await post(`/test/merchants/${id}/clock`, { advance: 30 * 86_400 })
    const dispute = await open(transactionId)
    expect(dispute).toEqual({
      due: dueOf(new Date(Date.parse(dispute.created) + 30 * 86_400_000).toISOString()),
      id: anyId,
      merchantId: id,
      transactionId,
      created: anyTime,
      amount: 300,
      currency: 'EUR',
      reason: { code: 4_853, title: 'Cardholder dispute' },
      status: 'open',
    })
  })

  it('401, 404, 403: judges key, object and access in this order, and refuses live objects', async () => {
    const transactionId = await captured()
    const live = (await createTestMerchant(payments, member, { currency: 'EUR' })).id
    const liveId = await captured(300, live)
    const status = async (id: string, headers: object = {}, payload: object = {}) =>
      (await post(`/test/transactions/${id}/disputes`, payload, headers)).statusCode
    expect(await status(UNKNOWN_ID, basic('x'))).toBe(401)
    expect(await status(UNKNOWN_ID, stranger.headers, { amount: 0 })).toBe(404)
    expect(await status('nonsense', stranger.headers)).toBe(404)
    expect(await status(transactionId, stranger.headers, { amount: 0 })).toBe(403)
    expect(await status(liveId, {}, { amount: 0 })).toBe(403)
    expect(await status(liveId)).toBe(403)
    expect(await amounts(liveId)).toEqual({ disputed: 0n, captured: 300n, refunded: 0n, lost: 0n, trail_length: 1 })
  })

  it('409: answers when the transaction stays locked', async () => {
    const transactionId = await captured()
    await payments.database.db.transaction().execute(async (trx) => {
      await trx.selectFrom('transactions').select('id').where('id', '=', transactionId).forUpdate().execute()
      const response = await post(`/test/transactions/${transactionId}/disputes`)
      expect([response.statusCode, response.headers['retry-after']]).toEqual([409, '1'])
    })
  })
})

describe('POST /test/disputes/:disputeId/outcomes', () => {
  const trail = (id: string) =>
    payments.database.db
      .selectFrom('trail_entries')
      .select(['kind', 'amount', 'gross', 'fee_flat', 'fee_rate', 'balance', 'line_id', 'dispute_id', 'descriptor'])
      .where('transaction_id', '=', id)
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst()
  const line = (id: string) =>
    payments.database.db
      .selectFrom('lines')
      .select(['id', 'kind', 'balance', 'fee', 'description', 'amount', 'currency'])
      .where('transaction_id', '=', id)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()

  it('201: a won dispute frees its money, without a line', async () => {
    const transactionId = await captured()
    const dispute = await open(transactionId, { amount: 200 })
    const response = await post(`/test/disputes/${dispute.id}/outcomes`, 'outcome=won', FORM)
    const closed = response.json<{ dispute: Shown }>().dispute
    expect([response.statusCode, closed]).toEqual([201, { ...dispute, status: 'won', resolved: expect.any(String) }])
    expect(Math.abs(Date.parse(closed.resolved ?? '') - Date.now())).toBeLessThan(60_000)
    expect(await amounts(transactionId)).toEqual({
      disputed: 0n,
      lost: 0n,
      trail_length: 2,
      captured: 300n,
      refunded: 0n,
    })
    expect(await trail(transactionId)).toEqual({
      kind: 'disputeWon',
      amount: 200n,
      gross: 0n,
      fee_flat: 0n,
      fee_rate: 0n,
      balance: 0n,
      line_id: null,
      dispute_id: dispute.id,
      descriptor: 'Coffee & John',
    })
    expect(await line(transactionId)).toEqual({
      kind: 'capture',
      id: anyId,
      balance: 2_021n,
      fee: 216n,
      description: `Capture ${transactionId}`,
      amount: 300n,
      currency: 'EUR',
    })
    await open(transactionId, { amount: 300 })
  })

  it('201: a lost dispute takes the worth of the captures, with the fee', async () => {
    const transactionId = await captured()
    const dispute = await open(transactionId, { amount: 100 })
    const response = await close(dispute.id, 'lost')
    expect(response.json()).toEqual({ dispute: { ...dispute, status: 'lost', resolved: expect.any(String) } })
    expect(await amounts(transactionId)).toEqual({
      disputed: 100n,
      lost: 100n,
      trail_length: 2,
      captured: 300n,
      refunded: 0n,
    })
    // EUR 1.00 and the fee of EUR 25.00, at 7.4558 DKK.
    const posted = await trail(transactionId)
    expect(posted).toEqual({
      kind: 'disputeLost',
      amount: 100n,
      gross: 746n,
      fee_flat: 18_640n,
      balance: -19_386n,
      fee_rate: 0n,
      line_id: anyId,
      dispute_id: dispute.id,
      descriptor: 'Coffee & John',
    })
    expect(await line(transactionId)).toEqual({
      id: posted?.line_id,
      kind: 'dispute',
      balance: -19_386n,
      fee: 18_640n,
      amount: 100n,
      currency: 'EUR',
      description: `Dispute ${transactionId}`,
    })
  })

  it('201: disputes lost in parts take exactly the worth of the captures', async () => {
    const transactionId = await captured(100)
    for (const part of [101, 99]) await capture(payments, member, transactionId, part)
    for (const amount of [7, 150, 143]) await close((await open(transactionId, { amount })).id, 'lost')
    const { rows } = {
      rows: await payments.database.db
        .selectFrom('trail_entries')
        .select(['kind', 'gross'])
        .where('transaction_id', '=', transactionId)
        .execute(),
    }
    const sum = (kind: string) =>
      rows.filter((row) => row.kind === kind).reduce((total, { gross }) => total + gross, 0n)
    expect(sum('disputeLost')).toBe(sum('capture'))
  })

  it('201, 409: repeats the same outcome without effect, and refuses the other', async () => {
    const transactionId = await captured()
    const { id } = await open(transactionId)
    const first = await close(id, 'lost')
    const again = await close(id, 'lost')
    expect([again.statusCode, again.body]).toEqual([201, first.body])
    const other = await close(id, 'won')
    expect([other.statusCode, other.json()]).toEqual([
      409,
      { code: 'CONFLICT', message: 'The dispute was closed the other way' },
    ])
    expect(other.headers['retry-after']).toBeUndefined()
    expect(await amounts(transactionId)).toEqual({
      disputed: 300n,
      lost: 300n,
      trail_length: 2,
      captured: 300n,
      refunded: 0n,
    })
  })

  it('201: of many outcomes at once posts one, once', async () => {
    const transactionId = await captured()
    const { id } = await open(transactionId)
    const outcomes = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'won' : 'lost'))
    const statuses = await Promise.all(outcomes.map(async (outcome) => (await close(id, outcome)).statusCode))
    expect(statuses.filter((status) => status === 201)).toHaveLength(10)
    expect(statuses.filter((status) => status === 409)).toHaveLength(10)
    expect(await amounts(transactionId)).toEqual({
      trail_length: 2,
      captured: 300n,
      refunded: 0n,
      disputed: expect.any(BigInt),
      lost: expect.any(BigInt),
    })
  })

  it('400: refuses to make a trail longer than 300 entries, except for an acquirer', async () => {
    const transactionId = await captured()
    const { id } = await open(transactionId)
    const trail = { trail_length: 300 }
    await payments.database.db.updateTable('transactions').set(trail).where('id', '=', transactionId).execute()
    const refused = await close(id, 'won')
    const message = 'the trail of the transaction is full'
    expect([refused.statusCode, refused.json()]).toEqual([400, fields('body', 'LIMIT_EXCEEDED', message)])
    const nobody = { keyMac: null, userEmail: null, method: null, path: null, idempotencyKey: null, fingerprint: null }
    const told = await callCloseDispute(payments.database.lanes, { ...nobody, disputeId: id, outcome: 'won' })
    expect([told.verdict, told.refusal, told.dispute?.status]).toEqual(['done', undefined, 'won'])
    expect(await amounts(transactionId)).toEqual({
      trail_length: 301,
      captured: 300n,
      refunded: 0n,
      disputed: 0n,
      lost: 0n,
    })
  })

  it('201: answers a repeat with the same bytes', async () => {
    const { id } = await open(await captured())
    const [first, again] = [
      await close(id, 'won', { 'idempotency-key': 'k' }),
      await close(id, 'won', { 'idempotency-key': 'k' }),
    ]
    expect([again.body, again.headers['idempotent-replayed']]).toEqual([first.body, 'true'])
  })

  it('401, 404, 403, 400: judges key, object, access and values in this order', async () => {
    const { id } = await open(await captured())
    const status = async (disputeId: string, outcome: string, headers: object = {}) =>
      (await close(disputeId, outcome, headers)).statusCode
    expect(await status(UNKNOWN_ID, '', basic('x'))).toBe(401)
    expect(await status(UNKNOWN_ID, '', stranger.headers)).toBe(404)
    expect(await status(id, '', stranger.headers)).toBe(403)
    expect((await close(id, '')).json()).toEqual(fields('outcome', 'REQUIRED'))
    expect((await close(id, 'drawn')).json()).toEqual(fields('outcome', 'FORMAT'))
  })
})

describe('GET /disputes', () => {
  let id: string
  let first: string
  let disputes: Shown[]
  beforeAll(async () => {
    id = (await createTestMerchant(payments, member, { test: true })).id
    first = await captured(300, id)
    const second = await captured(300, id)
    disputes = [await open(first, { amount: 1 }), await open(second, { amount: 2 }), await open(first, { amount: 3 })]
  })
  const list = async (query: string, headers: object = {}) => (await get(`/disputes?${query}`, headers)).json<Shown[]>()

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
    expect((await get(`/disputes?limit=1&filter[merchantId]=${empty}`)).body).toBe('[\n]\n')
  })

  it.each<[string, readonly [string, string][]]>([
    [
      '',
      [
        ['limit', 'REQUIRED'],
        ['filter.merchantId', 'REQUIRED'],
      ],
    ],
    [
      'limit=0',
      [
        ['limit', 'RANGE'],
        ['filter.merchantId', 'REQUIRED'],
      ],
    ],
    ['limit=1&filter[merchantId]=x', [['filter.merchantId', 'FORMAT']]],
    ['limit=1&filter[merchantId]=ID&filter[transactionId]=x', [['filter.transactionId', 'FORMAT']]],
    ['limit=1&filter[merchantId]=ID&before=x', [['before', 'FORMAT']]],
  ])('400: refuses %j', async (query, refused) => {
    const response = await get(`/disputes?${query.replace('ID', id)}`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual(refused.flatMap(([field, code]) => fields(field, code)))
  })

  it('401, 404, 403: judges key, merchant and access before the rest of the query', async () => {
    const status = async (url: string, headers: object = {}) => (await get(url, headers)).statusCode
    expect(await status('/disputes', basic('x'))).toBe(401)
    for (const rest of ['&limit=1', '']) {
      expect(await status(`/disputes?filter[merchantId]=${UNKNOWN_ID}${rest}`)).toBe(404)
      expect(await status(`/disputes?filter[merchantId]=${id}${rest}`, stranger.headers)).toBe(403)
    }
    const [{ id: disputeId } = { id: '' }] = disputes
    expect(await status(`/disputes/${disputeId}`, basic('x'))).toBe(401)
    expect(await status(`/disputes/${UNKNOWN_ID}`)).toBe(404)
    expect(await status('/disputes/nonsense')).toBe(404)
    expect(await status(`/disputes/${disputeId}`, stranger.headers)).toBe(403)
  })
})
