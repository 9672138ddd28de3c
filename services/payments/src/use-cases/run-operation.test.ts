import { createHash } from 'node:crypto'
import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callerOf } from '../../test/caller.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import type { IdempotentRequest } from '../access/caller.ts'
import { type Problem, valid } from '../access/require-access.ts'
import {
  amountBeyondLimit,
  currencyWithoutRate,
  forbidden,
  idempotencyKeyUsed,
  notFound,
  otherCurrency,
  unauthorized,
} from '../errors.ts'
import { type RunOperationInput, runOperation } from './run-operation.ts'

let payments: TestPayments
let app: TestApp
let stranger: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments()
  ;[app, stranger] = await Promise.all([createTestApp(payments), createTestApp(payments)])
  merchantId = (await createTestMerchant(payments, app, { currency: 'EUR', test: true })).id
})
afterAll(() => payments.close())

/** Creates a payment of EUR 3.00 without captures. */
const pay = () => customerPayment(payments, merchantId)

interface Attempt extends Partial<Omit<RunOperationInput, 'caller' | 'transactionId'>> {
  /** The key of the calling app. */
  readonly key?: string
  readonly idempotentRequest?: IdempotentRequest
}

/** Captures EUR 1.00, unless `attempt` says otherwise. @returns the result, or the thrown error */
const run = (transactionId: string, { key = app.key, idempotentRequest, ...attempt }: Attempt = {}) =>
  runOperation(payments.deps, {
    caller: callerOf({ key }, idempotentRequest),
    transactionId,
    kind: 'capture',
    operation: valid({ amount: 100 }),
    ...attempt,
  }).catch((error: unknown) => error)

/** The expected transaction after one operation. */
const shown = (id: string, amounts: object, entry: object) => ({
  ...{ id, merchantId, test: true, created: expect.any(Date), currency: 'EUR', fundingCurrency: 'EUR', amount: 300n },
  ...{ descriptor: 'Coffee & John', reference: null, card: expect.any(Object), codePresent: expect.any(Boolean) },
  ...{ custom: null, tds: null, recurring: false, errorCode: null, plan: null, unplanned: null, sourceId: null },
  ...{ captured: 0n, refunded: 0n, voided: 0n, disputed: 0n, ...amounts },
  trail: [
    {
      ...{ id: anyId, created: expect.any(String), amount: 100, descriptor: 'Coffee & John', reference: null },
      ...{ lineId: null, disputeId: null, rate: null, rateDate: null, balance: 0, feeFlat: 0, feeRate: 0, ...entry },
    },
  ],
})

const BAD_BODY = currencyWithoutRate()
const captured = { kind: 'capture', lineId: anyId, balance: 74, feeFlat: 25, feeRate: 1 }

const asBody = (content: string, key: string): IdempotentRequest => ({
  ...{ method: 'POST', path: '/captures', key },
  fingerprint: createHash('sha256').update(content).digest(),
})

describe('runOperation', () => {
  it.each([
    ['capture', { pending: 200n, captured: 100n }, captured],
    ['void', { pending: 200n, voided: 100n }, { kind: 'void' }],
  ] as const)(
    'answers a %s with the transaction: its amounts are moved, and its trail has an entry',
    async (kind, amounts, entry) => {
      const id = await pay()
      expect(await run(id, { kind })).toEqual({ transaction: shown(id, amounts, entry), replayed: false })
    },
  )

  it('answers a repeat as it answered the first request, and refuses its key with another body', async () => {
    const id = await pay()
    const transaction = shown(id, { pending: 200n, captured: 100n }, captured)
    expect(await run(id, { idempotentRequest: asBody('a', 'one') })).toEqual({ transaction, replayed: false })
    expect(await run(id, { idempotentRequest: asBody('a', 'one') })).toEqual({ transaction, replayed: true })
    expect(await run(id, { idempotentRequest: asBody('b', 'one') })).toEqual(idempotencyKeyUsed())
  })

  it.each<[why: string, attempt: () => Attempt, error: Error]>([
    ['an unknown key', () => ({ key: 'x' }), unauthorized()],
    ['an app that is no member', () => ({ key: stranger.key }), forbidden()],
    ['more than is left', () => ({ operation: valid({ amount: 301 }) }), amountBeyondLimit('capture', 'EUR 3.00')],
    ['a refund before a capture', () => ({ kind: 'refund' }), amountBeyondLimit('refund', 'EUR 0.00')],
    ['another currency', () => ({ operation: valid({ amount: 1, currency: 'DKK' }) }), otherCurrency('EUR')],
  ])('refuses %s', async (_why, attempt, error) => {
    expect(await run(await pay(), attempt())).toEqual(error)
  })

  it('refuses an unknown transaction', async () => {
    expect(await run(UNKNOWN_ID)).toEqual(notFound())
  })

  it.each<[stage: Problem['stage'], ofStranger: Error]>([
    ['parse', BAD_BODY],
    ['validation', forbidden()],
  ])('refuses a body that failed at %s, for a stranger in the order of checks', async (stage, ofStranger) => {
    const id = await pay()
    const operation = { verdict: 'refused', problem: { stage, error: BAD_BODY } } as const
    expect(await run(id, { operation })).toEqual(BAD_BODY)
    expect(await run(id, { operation, key: stranger.key })).toEqual(ofStranger)
    expect(await run(id, { operation, key: 'x' })).toEqual(unauthorized())
  })
})
