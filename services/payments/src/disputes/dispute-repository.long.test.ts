import { anyId } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { copyDispute } from '../../test/open-disputes.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { TRUSTED_COLUMNS } from '../access/caller.ts'
import { type Amounts, authorized, runOperation } from '../transactions/amounts.model.ts'
import type { Dispute } from './dispute.ts'
import { closeDispute, openDispute } from './dispute-amounts.model.ts'
import { callCloseDispute, callOpenDispute } from './dispute-repository.ts'

let payments: TestPayments
let app: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, app, { test: true, currency: 'EUR' })).id
})
afterAll(() => payments.close())

const AMOUNT = 1_000
const share = fc.integer({ min: 1, max: 600 })
const step = fc.oneof(
  fc.record({ step: fc.constantFrom('capture' as const, 'refund' as const), amount: share }),
  fc.record({ step: fc.constant('open' as const), amount: fc.option(share, { nil: undefined }) }),
  fc.record({
    step: fc.constant('close' as const),
    place: fc.nat(5),
    outcome: fc.constantFrom('won' as const, 'lost' as const),
  }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** The model of a transaction and its disputes. */
interface State {
  amounts: Amounts
  trailLength: number
  readonly disputes: Dispute[]
}

/** Runs a step in the database and in the model, and compares the results. */
async function take(transactionId: string, state: State, next: Step): Promise<void> {
  const { pools } = payments.database
  if (next.step === 'open') {
    const expected = openDispute(state.amounts, next.amount === undefined ? undefined : BigInt(next.amount))
    const dispute = { amount: next.amount, reasonCode: 4853, reasonTitle: 'x' }
    const { outcome } = await callOpenDispute(pools, { ...TRUSTED_COLUMNS, transactionId, dispute })
    if (expected.verdict !== 'done') {
      expect(outcome).toEqual({ verdict: 'limit-exceeded', currency: 'EUR', possible: expected.possible })
      return
    }
    const opened = {
      amount: expected.amount,
      status: 'open',
      id: anyId,
      merchantId,
      transactionId,
      currency: 'EUR',
      excess: expected.excess,
      reason: { code: 4_853, title: 'x' },
      due: expect.any(Date),
      resolved: null,
      created: expect.any(Date),
    }
    expect(outcome).toEqual({ verdict: 'opened', dispute: opened })
    state.amounts = expected.amounts
    if (outcome?.verdict === 'opened') state.disputes.push(outcome.dispute)
  } else if (next.step === 'close') {
    const index = next.place % state.disputes.length
    const dispute = state.disputes[index]
    if (!dispute) return
    const expected = closeDispute(state.amounts, dispute, next.outcome)
    const { outcome } = await callCloseDispute(pools, {
      ...TRUSTED_COLUMNS,
      disputeId: dispute.id,
      outcome: next.outcome,
    })
    if (expected.verdict === 'conflict') {
      expect(outcome).toEqual({ verdict: 'conflict' })
      return
    }
    const closed = { ...dispute, status: next.outcome, resolved: expect.any(Date) }
    expect(outcome).toEqual({ verdict: 'closed', dispute: closed })
    state.amounts = expected.amounts
    state.trailLength += expected.verdict === 'done' ? 1 : 0
    state.disputes[index] = { ...dispute, status: next.outcome }
  } else {
    const expected = runOperation(state.amounts, next.step, BigInt(next.amount))
    const url = `/transactions/${transactionId}/${next.step}s`
    const response = await payments.app.inject({
      method: 'POST',
      url,
      headers: app.headers,
      payload: { amount: next.amount },
    })
    expect(response.statusCode).toBe(expected.verdict === 'done' ? 201 : 400)
    if (expected.verdict !== 'done') return
    state.amounts = expected.amounts
    state.trailLength += 1
  }
}

it('open_dispute and close_dispute agree with their models after any sequence of steps', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const transactionId = await customerPayment(payments, merchantId, { amount: AMOUNT })
      const state: State = { amounts: authorized(BigInt(AMOUNT)), trailLength: 0, disputes: [] }
      await take(transactionId, state, { step: 'capture', amount: 600 })
      for (const next of steps) await take(transactionId, state, next)
      const row = await payments.database.db
        .selectFrom('transactions')
        .select(['amount', 'pending', 'captured', 'refunded', 'voided', 'disputed', 'lost', 'trail_length'])
        .where('id', '=', transactionId)
        .executeTakeFirst()
      expect(row).toEqual({ ...state.amounts, trail_length: state.trailLength })
    }),
    { numRuns: 30 },
  )
})

it('open_dispute refuses one of more than a thousand to acquirers and operators too', async () => {
  const { id } = await createTestMerchant(payments, app, { test: true, currency: 'EUR' })
  const transactionId = await customerPayment(payments, id, { amount: AMOUNT })
  await capture(payments, app, transactionId, AMOUNT)
  const dispute = { amount: 1, reasonCode: 4853, reasonTitle: 'x' }
  const open = async () => {
    const { outcome } = await callOpenDispute(payments.database.pools, { ...TRUSTED_COLUMNS, transactionId, dispute })
    return outcome
  }
  const first = await open()
  if (first?.verdict !== 'opened') throw new Error('the first dispute was refused')
  await copyDispute(payments, first.dispute.id, 998)
  expect((await open())?.verdict).toBe('opened')
  expect(await open()).toEqual({ verdict: 'too-many-open' })
})
