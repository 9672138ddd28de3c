import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
import { disputeRequests } from '../../../../test/dispute-requests.ts'
import { capture } from '../../../../test/operations.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'
import { callCloseDispute } from '../../../disputes/dispute-repository.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
let requests: ReturnType<typeof disputeRequests>
let merchantId: string
beforeAll(async () => {
  // Twenty concurrent requests wait for each other. On a busy machine they wait longer than the default timeout.
  payments = await startPayments({ lockTimeoutMs: 30_000 })
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  requests = disputeRequests(payments, member)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
})
afterAll(() => payments.close())

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** The amounts of a transaction whose dispute is lost. */
const LOST = { disputed: 300n, lost: 300n, trail_length: 2, captured: 300n, refunded: 0n }

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
    const transactionId = await requests.captured(merchantId)
    const dispute = await requests.open(transactionId, { amount: 200 })
    const response = await requests.post(`/test/disputes/${dispute.id}/outcomes`, 'outcome=won', FORM)
    const closed = response.json().dispute
    expect([response.statusCode, closed]).toEqual([201, { ...dispute, status: 'won', resolved: expect.any(String) }])
    expect(Math.abs(Date.parse(closed.resolved ?? '') - Date.now())).toBeLessThan(60_000)
    expect(await requests.amounts(transactionId)).toEqual({
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
    await requests.open(transactionId, { amount: 300 })
  })

  it('201: a lost dispute takes the worth of the captures, with the fee', async () => {
    const transactionId = await requests.captured(merchantId)
    const dispute = await requests.open(transactionId, { amount: 100 })
    const response = await requests.close(dispute.id, 'lost')
    expect(response.json()).toEqual({ dispute: { ...dispute, status: 'lost', resolved: expect.any(String) } })
    expect(await requests.amounts(transactionId)).toEqual({
      disputed: 100n,
      lost: 100n,
      trail_length: 2,
      captured: 300n,
      refunded: 0n,
    })
    // EUR 1.00 and the fee of EUR 25.00, at 7.4558 DKK per EUR.
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
    const transactionId = await requests.captured(merchantId, 100)
    for (const part of [101, 99]) await capture(payments, member, transactionId, part)
    for (const amount of [7, 150, 143])
      await requests.close((await requests.open(transactionId, { amount })).id, 'lost')
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

  it('201: repeats the same outcome without effect', async () => {
    const transactionId = await requests.captured(merchantId)
    const { id } = await requests.open(transactionId)
    const first = await requests.close(id, 'lost')
    const again = await requests.close(id, 'lost')
    expect([again.statusCode, again.body]).toEqual([201, first.body])
    expect(await requests.amounts(transactionId)).toEqual(LOST)
  })

  it('409: refuses the other outcome, without effect and without Retry-After', async () => {
    const transactionId = await requests.captured(merchantId)
    const { id } = await requests.open(transactionId)
    await requests.close(id, 'lost')
    const other = await requests.close(id, 'won')
    expect([other.statusCode, other.json()]).toEqual([
      409,
      { code: 'CONFLICT', message: 'The dispute is already lost' },
    ])
    expect(other.headers['retry-after']).toBeUndefined()
    expect(await requests.amounts(transactionId)).toEqual(LOST)
  })

  it('201: of many outcomes at once posts one, once', async () => {
    const transactionId = await requests.captured(merchantId)
    const { id } = await requests.open(transactionId)
    const outcomes = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'won' : 'lost'))
    const statuses = await Promise.all(outcomes.map(async (outcome) => (await requests.close(id, outcome)).statusCode))
    expect(statuses.filter((status) => status === 201)).toHaveLength(10)
    expect(statuses.filter((status) => status === 409)).toHaveLength(10)
    expect(await requests.amounts(transactionId)).toEqual({
      trail_length: 2,
      captured: 300n,
      refunded: 0n,
      disputed: expect.any(BigInt),
      lost: expect.any(BigInt),
    })
  })

  it('400: refuses to make a trail longer than 300 entries, except for an acquirer', async () => {
    const transactionId = await requests.captured(merchantId)
    const { id } = await requests.open(transactionId)
    const trail = { trail_length: 300 }
    await payments.database.db.updateTable('transactions').set(trail).where('id', '=', transactionId).execute()
    const refused = await requests.close(id, 'won')
    const message = 'the trail of the transaction is full'
    expect(statusAndBody(refused)).toEqual(refusedField('body', message, 'LIMIT_EXCEEDED'))
    const nobody = { keyMac: null, userEmail: null, method: null, path: null, idempotencyKey: null, fingerprint: null }
    const { outcome } = await callCloseDispute(payments.database.pools, { ...nobody, disputeId: id, outcome: 'won' })
    expect(outcome?.verdict === 'closed' && outcome.dispute.status).toBe('won')
    expect(await requests.amounts(transactionId)).toEqual({
      trail_length: 301,
      captured: 300n,
      refunded: 0n,
      disputed: 0n,
      lost: 0n,
    })
  })

  it('201: answers a repeat with the same bytes', async () => {
    const { id } = await requests.open(await requests.captured(merchantId))
    const [first, again] = [
      await requests.close(id, 'won', { 'idempotency-key': 'k' }),
      await requests.close(id, 'won', { 'idempotency-key': 'k' }),
    ]
    expect([again.body, again.headers['idempotent-replayed']]).toEqual([first.body, 'true'])
  })

  it('401: refuses an unknown key before it looks for the dispute', async () => {
    const refusal = async (disputeId: string, outcome: string, headers: object = {}) =>
      statusAndBody(await requests.close(disputeId, outcome, headers))
    expect(await refusal(UNKNOWN_ID, '', basic('x'))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown dispute before the body is judged', async () => {
    const refusal = async (disputeId: string, outcome: string, headers: object = {}) =>
      statusAndBody(await requests.close(disputeId, outcome, headers))
    expect(await refusal(UNKNOWN_ID, '', stranger.headers)).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member of the merchant, before the body is judged', async () => {
    const { id } = await requests.open(await requests.captured(merchantId))
    const refusal = async (disputeId: string, outcome: string, headers: object = {}) =>
      statusAndBody(await requests.close(disputeId, outcome, headers))
    expect(await refusal(id, '', stranger.headers)).toEqual(refusals.forbidden)
  })

  it('400: refuses an outcome that is neither won nor lost', async () => {
    const { id } = await requests.open(await requests.captured(merchantId))
    expect(statusAndBody(await requests.close(id, ''))).toEqual(refusedField('outcome', 'is required', 'REQUIRED'))
    expect(statusAndBody(await requests.close(id, 'drawn'))).toEqual(refusedField('outcome', 'is not valid', 'FORMAT'))
  })
})
