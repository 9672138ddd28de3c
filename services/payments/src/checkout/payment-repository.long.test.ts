import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countLockWaits } from '../../test/lock-waits.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { callerColumns } from '../access/caller.ts'
import { verifyLedger } from '../use-cases/verify-ledger.ts'
import { NOT_ENROLLED } from './authentication.ts'
import type { PaymentEnd } from './checkout-repository.ts'
import { type BegunPayment, callBeginPayment, callFinishPayment } from './payment-repository.ts'
import { insertSession } from './session-repository.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 30_000 })
})
afterAll(() => payments.close())

const OUTCOMES = ['approved', 'declined', 'unknown'] as const
const CODES = { approved: null, declined: 'PAYMENT_CARD_LOST', unknown: 'PAYMENT_METHOD_ERROR' } as const
const NUMBERS = { approved: null, declined: 10, unknown: 12 } as const

interface Begin {
  /** `undefined` for a payment without a session. */
  readonly session: number | undefined
  readonly tokens: readonly number[]
  readonly key: number | undefined
  /** One of two bodies that are sent with the key. */
  readonly body: number
}
interface Finish {
  /** Selects one of the attempts that exist at this step. */
  readonly attempt: number
  readonly outcome: (typeof OUTCOMES)[number]
}

const SESSIONS = 3
const few = (max: number) => fc.integer({ min: 0, max })
const steps = fc.array(
  fc.oneof(
    fc.record({
      session: fc.option(few(SESSIONS), { nil: undefined }),
      tokens: fc.uniqueArray(few(2), { maxLength: 2 }),
      key: fc.option(few(1), { nil: undefined, freq: 2 }),
      body: few(1),
    }),
    fc.record({ attempt: few(20), outcome: fc.constantFrom(...OUTCOMES) }),
  ),
  { minLength: 5, maxLength: 25 },
)

interface Claim {
  readonly session: number | undefined
  readonly tokens: readonly number[]
  readonly key: number | undefined
  isOpen: boolean
}

/** A model of the SQL functions `begin_payment` and `finish_payment`. */
class Model {
  readonly #sessions = new Map<number, PaymentEnd | 'running'>()
  readonly #keys = new Map<number, { readonly body: number; end: PaymentEnd | undefined }>()
  readonly #spent = new Set<number>()
  readonly claims: Claim[] = []
  readonly transactions: PaymentEnd[] = []

  /** Returns `undefined` if an attempt begins. */
  begin({ session, tokens, key, body }: Begin): Exclude<BegunPayment, { verdict: 'begun' }> | undefined {
    if (session === SESSIONS) return { verdict: 'gone' }
    const state = session === undefined ? undefined : this.#sessions.get(session)
    if (state !== undefined) return state === 'running' ? { verdict: 'running' } : { verdict: 'ended', end: state }
    const held = key === undefined ? undefined : this.#keys.get(key)
    const isTakenOver = held?.end?.verdict === 'refused' && held.body !== body
    if (held && held.body !== body && !isTakenOver) return { verdict: 'key-mismatch' }
    if (held && !isTakenOver) return held.end ? { verdict: 'ended', end: held.end } : { verdict: 'running' }
    if (tokens.some((token) => this.#spent.has(token))) return { verdict: 'spent' }
    for (const token of tokens) this.#spent.add(token)
    if (session !== undefined) this.#sessions.set(session, 'running')
    if (key !== undefined) this.#keys.set(key, { body, end: undefined })
    this.claims.push({ session, tokens, key, isOpen: true })
    return undefined
  }

  finish(claim: Claim, end: PaymentEnd): void {
    claim.isOpen = false
    this.transactions.push(end)
    if (claim.session !== undefined) this.#sessions.set(claim.session, end)
    const held = claim.key === undefined ? undefined : this.#keys.get(claim.key)
    if (held) held.end = end
    if (end.verdict === 'refused') for (const token of claim.tokens) this.#spent.delete(token)
  }
}

/** Creates a merchant with sessions, and returns the calls that are compared with the model. */
async function openWorld() {
  const { pools, db } = payments.database
  const merchant = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR', test: true })
  const merchantId = merchant.id
  const open = { merchantId, digest: Buffer.alloc(32), enrolment: NOT_ENROLLED }
  const sessions = await Promise.all(Array.from({ length: SESSIONS + 1 }, () => insertSession(pools, open)))
  const over = db.updateTable('payment_sessions').set({ expires: new Date(0) })
  await over
    .where('merchant_id', '=', merchantId)
    .where('id', '=', sessions[SESSIONS] ?? '')
    .execute()
  const begin = async ({ session, tokens, key, body }: Begin) => {
    const ids = await sql<{ id: string }>`SELECT id FROM ${sql.table('new_id')}(right(${merchantId}, 8))`.execute(db)
    const path = { method: 'POST', path: '/payments', fingerprint: Buffer.alloc(32, body) }
    const idempotentRequest = key === undefined ? undefined : { ...path, key: `key-${key}` }
    return callBeginPayment(pools, {
      ...callerColumns({ keyMac: null, userEmail: null, idempotentRequest }),
      merchantId,
      sessionId: session === undefined ? null : (sessions[session] ?? null),
      encryptedPan: Buffer.alloc(45),
      panMac: Buffer.alloc(32),
      payment: {
        test: true,
        acquirer: null,
        currency: 'EUR',
        amount: 100,
        descriptor: 'Coffee',
        reference: undefined,
        custom: undefined,
        tds: null,
        plan: undefined,
        unplanned: undefined,
        tokens: tokens.map((token) => ({ jti: `token-${token}`, expires: new Date('2066-01-01') })),
        instrument: {
          id: ids.rows[0]?.id ?? '',
          keyId: 1,
          bin: '100000',
          last4: '0000',
          expiry: '2066-08-31',
          scheme: 'visa',
          scenario: {},
          planned: false,
        },
      },
    })
  }
  const finish = (attemptId: string, outcome: Finish['outcome']) =>
    callFinishPayment(pools, {
      merchantId,
      attemptId,
      outcome,
      statusCode: CODES[outcome],
      errorCode: NUMBERS[outcome],
      acquirerRef: null,
      networkRef: null,
    })
  return { merchantId, begin, finish }
}

it('begin_payment and finish_payment agree with the model after any sequence of payments', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const model = new Model()
      const world = await openWorld()
      const attempts: string[] = []
      for (const step of steps) {
        if ('tokens' in step) {
          const expected = model.begin(step)
          const begun = await world.begin(step)
          if (expected) expect(begun).toEqual(expected)
          else attempts.push(begun.verdict === 'begun' ? begun.attemptId : expect.fail(JSON.stringify(begun)))
          continue
        }
        const claim = model.claims[step.attempt % Math.max(1, attempts.length)]
        const attemptId = attempts[step.attempt % Math.max(1, attempts.length)]
        if (!claim || attemptId === undefined) continue
        const transactionId = await world.finish(attemptId, step.outcome)
        expect(transactionId !== undefined).toBe(claim.isOpen)
        const statusCode = CODES[step.outcome]
        if (transactionId !== undefined)
          model.finish(
            claim,
            statusCode === null ? { verdict: 'paid', transactionId } : { verdict: 'refused', statusCode },
          )
      }
      const rows = await payments.database.db
        .selectFrom('transactions')
        .select('successful')
        .where('merchant_id', '=', world.merchantId)
        .orderBy('id')
        .execute()
      expect(rows.map(({ successful }) => successful)).toEqual(
        model.transactions.map(({ verdict }) => verdict === 'paid'),
      )
    }),
    { numRuns: 30 },
  )
  const whole = { merchantId: undefined, heads: new Map() }
  for await (const { violations } of verifyLedger(payments.database.db, whole)) expect(violations).toEqual([])
})

describe('the key of a refused order', () => {
  const order = (body: number) => ({ session: undefined, tokens: [body], key: 0, body })
  async function refuse({ begin, finish }: Awaited<ReturnType<typeof openWorld>>) {
    const begun = await begin(order(0))
    if (begun.verdict !== 'begun') throw new Error(begun.verdict)
    await finish(begun.attemptId, 'declined')
    return { verdict: 'ended', end: { verdict: 'refused', statusCode: CODES.declined } }
  }

  it('still has its refusal after another order whose token was spent', async () => {
    const world = await openWorld()
    const refused = await refuse(world)
    await world.begin({ session: undefined, tokens: [1], key: undefined, body: 0 })
    expect([await world.begin(order(1)), await world.begin(order(0))]).toEqual([{ verdict: 'spent' }, refused])
  })

  it('is not taken over by an order that was refused under it meanwhile, whose refusal it replays', async () => {
    const world = await openWorld()
    const refused = await refuse(world)
    const waiting = await payments.owner.db.transaction().execute(async (trx) => {
      const ofKey = sql`merchant_id = ${world.merchantId}`
      await sql`SELECT FROM ${sql.table('idempotency')} WHERE ${ofKey} FOR UPDATE`.execute(trx)
      const begun = world.begin(order(1))
      await expect.poll(() => countLockWaits(payments)).toBe(1)
      // Simulates that the other request took over the key and was also refused.
      const fingerprint = Buffer.alloc(32, 1)
      await sql`UPDATE ${sql.table('idempotency')} SET fingerprint = ${fingerprint} WHERE ${ofKey}`.execute(trx)
      return { begun }
    })
    expect(await waiting.begun).toEqual(refused)
  })
})
