import { createHash } from 'node:crypto'
import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
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
import { createStubAcquirer, type StubAcquirer } from '../../test/stub-acquirer.ts'
import type { IdempotentRequest } from '../access/caller.ts'
import { valid } from '../access/require-access.ts'
import type { AuthorizationOutcome } from '../acquirers/acquirer.ts'
import {
  currencyWithoutRate,
  forbidden,
  idempotencyKeyUsed,
  notFound,
  paymentRefused,
  unauthorized,
  unknownSource,
} from '../errors.ts'
import type { Charge } from '../transactions/charge-repository.ts'
import { chargeCard, createTransaction } from './create-transaction.ts'

const north: StubAcquirer = createStubAcquirer()
let payments: TestPayments
let app: TestApp
let stranger: TestApp
/** A live merchant. The stub acquirer authorizes its cards. */
let merchantId: string
let source: string
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  ;[app, stranger] = await Promise.all([createTestApp(payments), createTestApp(payments)])
  merchantId = (await createTestMerchant(payments, app, { currency: 'EUR' })).id
  const { db } = payments.database
  await db.updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', merchantId).execute()
  source = await customerPayment(payments, merchantId, { number: '4242424242424242' })
})
beforeEach(() => {
  Object.assign(north.answers, createStubAcquirer().answers)
  north.received.authorizations.splice(0)
})
afterAll(() => payments.close())

interface ChargeChanges {
  readonly merchantId?: string
  /** The key of the calling app. */
  readonly key?: string
  readonly idempotentRequest?: IdempotentRequest
  readonly charge?: Partial<Charge>
}

const inputOf = ({ key = app.key, idempotentRequest, charge, ...changes }: ChargeChanges) => ({
  caller: callerOf({ key }, idempotentRequest),
  merchantId,
  charge: valid({
    charge: { transactionId: source, currency: 'EUR', amount: 500, ...charge },
    sourceField: 'transactionId',
  }),
  ...changes,
})
/** Charges EUR 5.00, unless `changes` contains other values. @returns the result or the thrown error */
const create = (changes: ChargeChanges = {}) =>
  createTransaction(payments.deps, inputOf(changes)).catch((error: unknown) => error)

const withKey = (key: string, content = 'a'): IdempotentRequest => ({
  method: 'POST',
  path: '/transactions',
  key,
  fingerprint: createHash('sha256').update(content).digest(),
})

describe('createTransaction', () => {
  it('answers the transaction that the acquirer has approved', async () => {
    expect(await create()).toEqual({ transactionId: anyId, replayed: false })
    expect(north.received.authorizations).toHaveLength(1)
  })

  it.each<[why: string, outcome: AuthorizationOutcome, errorCode: number]>([
    ['declined', { verdict: 'declined', statusCode: 'PAYMENT_REJECTED' }, 11],
    ['not answered', { verdict: 'unknown' }, 12],
  ])(
    'refuses a charge that was %s, and names the failed transaction to `chargeCard`',
    async (_why, outcome, errorCode) => {
      north.answers.authorize = async () => outcome
      expect(await create()).toEqual(paymentRefused(errorCode, { replayed: false }))
      expect(await chargeCard(payments.deps, inputOf({}))).toEqual({
        end: { verdict: 'refused', errorCode, failedId: anyId },
        replayed: false,
      })
    },
  )

  it('answers a repeat as the first request, and asks the acquirer once', async () => {
    const first = await create({ idempotentRequest: withKey('one') })
    expect(first).toEqual({ transactionId: anyId, replayed: false })
    const { transactionId } = z.object({ transactionId: z.string() }).parse(first)
    expect(await create({ idempotentRequest: withKey('one') })).toEqual({ transactionId, replayed: true })
    expect(await create({ idempotentRequest: withKey('one', 'b') })).toEqual(idempotencyKeyUsed())
    expect(north.received.authorizations).toHaveLength(1)
  })

  it('answers a repeat of a refused charge with the same refusal', async () => {
    north.answers.authorize = async () => ({ verdict: 'declined', statusCode: 'PAYMENT_REJECTED' })
    expect(await create({ idempotentRequest: withKey('two') })).toEqual(paymentRefused(11, { replayed: false }))
    expect(await create({ idempotentRequest: withKey('two') })).toEqual(paymentRefused(11, { replayed: true }))
    expect(north.received.authorizations).toHaveLength(1)
  })

  describe('while the database is unavailable after the answer of the acquirer', () => {
    const lost = new Error('Connection terminated')
    /** Charges while the first write of the attempt's end fails, either before or after the write. */
    const createWhileAway = async (key: string, isWritten: boolean) => {
      const { write } = payments.deps.pools
      let isAway = true
      const one: typeof write.one = async (query, input) => {
        if (query.name !== 'finish_charge' || !isAway) return write.one(query, input)
        isAway = false
        if (isWritten) await write.one(query, input)
        throw lost
      }
      const deps = {
        ...payments.deps,
        pools: { ...payments.deps.pools, write: { ...write, one } },
        wait: async () => {},
      }
      return createTransaction(deps, inputOf({ idempotentRequest: withKey(key) })).catch((error: unknown) => error)
    }

    it('answers the transaction, once the database is back', async () => {
      expect(await createWhileAway('three', false)).toEqual({ transactionId: anyId, replayed: false })
      expect(await create({ idempotentRequest: withKey('three') })).toEqual({ transactionId: anyId, replayed: true })
      expect(north.received.authorizations).toHaveLength(1)
    })

    it('leaves the outcome to a repeat, when it may have been written before', async () => {
      expect(await createWhileAway('four', true)).toBe(lost)
      expect(await create({ idempotentRequest: withKey('four') })).toEqual({ transactionId: anyId, replayed: true })
      expect(north.received.authorizations).toHaveLength(1)
    })
  })

  it.each<[why: string, changes: () => ChargeChanges, error: Error]>([
    ['an unknown key', () => ({ key: 'x' }), unauthorized()],
    ['an app that is no member', () => ({ key: stranger.key }), forbidden()],
    ['an unknown merchant', () => ({ merchantId: UNKNOWN_ID }), notFound()],
    ['an unknown source', () => ({ charge: { transactionId: UNKNOWN_ID } }), unknownSource('transactionId')],
    ['a currency without a rate', () => ({ charge: { currency: 'XAU' } }), currencyWithoutRate()],
  ])('refuses %s before it asks the acquirer', async (_why, changes, error) => {
    expect(await create(changes())).toEqual(error)
    expect(north.received.authorizations).toEqual([])
  })
})
