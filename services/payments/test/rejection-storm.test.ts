import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { TRUSTED_COLUMNS } from '../src/access/caller.ts'
import { callCloseOperation } from '../src/acquirers/operation-repository.ts'
import { callCloseDispute, callOpenDispute } from '../src/disputes/dispute-repository.ts'
import { callPayOut } from '../src/payouts/payout-repository.ts'
import { capturedValue, netCaptures } from '../src/transactions/amounts.model.ts'
import { createLiveMerchant, type LiveMerchant } from './live-merchant.ts'
import { createTestApp, startPayments, type TestApp, type TestPayments } from './payments-app.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

// The full storm: REJECTION_OPERATIONS=5000 npx vitest run services/payments/test/rejection-storm.test.ts
const SEED = Number(process.env.REJECTION_SEED ?? Math.floor(Math.random() * 2 ** 31))
const OPERATIONS = Number(process.env.REJECTION_OPERATIONS ?? 200)
const WORKERS = 8
const CURRENCIES = ['EUR', 'USD', 'JPY', 'DKK']

let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  const north = createStubAcquirer()
  payments = await startPayments({ acquirers: new Map([['north', north]]), lockTimeoutMs: 30_000 })
  app = await createTestApp(payments)
  merchant = await createLiveMerchant(payments, app, { north, currency: 'DKK' })
})
afterAll(() => payments.close())
let merchant: LiveMerchant

const step = fc.record({
  act: fc.constantFrom(
    ...(['capture', 'capture', 'capture', 'refund', 'refund', 'void', 'answer', 'answer', 'answer', 'answer'] as const),
    ...(['dispute', 'outcome', 'payout', 'rate'] as const),
  ),
  place: fc.nat(),
  share: fc.double({ min: 0.01, max: 0.6, noNaN: true }),
  outcome: fc.constantFrom('accepted', 'accepted', 'rejected', 'unanswered'),
  dispute: fc.constantFrom('won', 'won', 'lost'),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Each capture has another rate, so that it matters which one is rejected. */
async function setRate(currency: string, rate: number): Promise<void> {
  await sql`
    SELECT ${sql.table('import_rates')}(jsonb_build_array(jsonb_build_object(
      'date', (now() AT TIME ZONE 'UTC')::date, 'currency', ${currency}::text, 'rate', ${rate}::numeric
    )))`.execute(payments.database.db)
}

const AMOUNT = 20_000
const operations: string[] = []
const disputes: string[] = []

async function take(transactionId: string, { act, place, share, outcome, dispute }: Step): Promise<void> {
  const { pools } = payments.deps
  const amount = Math.ceil(share * AMOUNT)
  if (act === 'capture' || act === 'refund' || act === 'void') {
    const url = `/transactions/${transactionId}/${act}s`
    const answer = await payments.app.inject({ method: 'POST', url, headers: app.headers, payload: { amount } })
    expect([201, 400]).toContain(answer.statusCode)
    if (answer.statusCode === 201) operations.push(answer.json().transaction.trail.at(-1).id)
  } else if (act === 'answer') {
    const id = operations[place % operations.length]
    if (id !== undefined) await callCloseOperation(pools, { merchantId: merchant.id, id, outcome, reason: null })
  } else if (act === 'dispute') {
    const body = { amount: Math.ceil(amount / 4), reasonCode: 4853, reasonTitle: 'x', acquirerRef: `d-${place}` }
    const { outcome: opened } = await callOpenDispute(pools, { ...TRUSTED_COLUMNS, transactionId, dispute: body })
    if (opened?.verdict === 'opened') disputes.push(opened.dispute.id)
  } else if (act === 'outcome') {
    const disputeId = disputes[place % disputes.length]
    if (disputeId !== undefined) await callCloseDispute(pools, { ...TRUSTED_COLUMNS, disputeId, outcome: dispute })
  } else if (act === 'payout') {
    await callPayOut(pools, { ...TRUSTED_COLUMNS, merchantId: merchant.id, minimumMajorUnits: 1, delayDays: 0 })
  } else {
    await setRate(CURRENCIES[1 + (place % 3)] ?? 'USD', 5 + share * 10)
  }
}

interface Entry {
  readonly id: string
  readonly kind: string
  readonly amount: bigint
  readonly gross: bigint
  readonly reference: string | null
}

/** Computes the worth of every refund, lost dispute and correction again, by the models. */
function replay(trail: readonly Entry[]): void {
  let [captured, reversed, moved] = [0n, 0n, 0n]
  const captures: (Entry & { takesBack: string | undefined })[] = []
  for (const entry of trail) {
    const { kind, amount, gross } = entry
    const next = { ...entry, takesBack: amount < 0n ? entry.reference?.slice(-24) : undefined }
    const value = (list: typeof captures, upTo: bigint) => capturedValue(netCaptures(list), upTo)
    if (kind === 'capture') {
      captures.push(next)
      captured += amount
      if (amount < 0n)
        expect([entry.id, moved + gross]).toEqual([entry.id, value(captures, captured) - value(captures, reversed)])
      moved += gross
    } else if (kind === 'refund' || kind === 'disputeLost') {
      const worth = value(captures, reversed + amount) - value(captures, reversed)
      expect([entry.id, gross]).toEqual([entry.id, worth])
      reversed += amount
      moved -= gross
    }
  }
  expect(moved).toBe(capturedValue(netCaptures(captures), captured) - capturedValue(netCaptures(captures), reversed))
}

it(`keeps every invariant whatever the acquirer rejects, and in which order (seed ${SEED})`, async () => {
  for (const [currency, rate] of [
    ['USD', 1.1],
    ['JPY', 160],
    ['DKK', 7.46],
  ] as const)
    await setRate(currency, rate)
  const transactions = await Promise.all(CURRENCIES.map((currency) => merchant.charge(AMOUNT, currency)))
  const { pools } = payments.deps
  const steps = fc.sample(step, { seed: SEED, numRuns: OPERATIONS })
  const work = async (_: unknown, worker: number): Promise<void> => {
    for (let n = worker; n < steps.length; n += WORKERS) {
      const [each, transaction] = [steps[n], transactions[(steps[n]?.place ?? 0) % transactions.length]]
      if (each && transaction !== undefined) await take(transaction, each)
      if (n % 50 === 0) expect(await merchant.violations()).toEqual([])
      await setImmediate()
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, work))
  for (const id of operations) {
    await callCloseOperation(pools, { merchantId: merchant.id, id, outcome: 'accepted', reason: null })
  }
  for (const disputeId of disputes) await callCloseDispute(pools, { ...TRUSTED_COLUMNS, disputeId, outcome: 'won' })
  expect(await merchant.violations()).toEqual([])
  for (const id of transactions) await checkTransaction(id)
  const { rows } = await sql<{ deadlocks: bigint }>`
    SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`.execute(payments.database.db)
  expect(rows).toEqual([{ deadlocks: 0n }])
}, 600_000)

/** When every operation is answered, the captured amount equals that of the acquirer, unless more was returned. */
async function checkTransaction(id: string): Promise<void> {
  const { rows: trail } = await sql<Entry>`
    SELECT id, kind, amount, gross, reference FROM ${sql.table('trail_entries')}
    WHERE merchant_id = ${merchant.id} AND transaction_id = ${id} ORDER BY seq`.execute(payments.database.db)
  replay(trail)
  const { rows: answered } = await sql<{ kind: string; status: string; amount: bigint }>`
    SELECT o.kind, o.status, e.amount FROM ${sql.table('acquirer_operations')} o
    JOIN ${sql.table('trail_entries')} e ON e.merchant_id = o.merchant_id AND e.id = o.id
    WHERE o.merchant_id = ${merchant.id} AND o.transaction_id = ${id}`.execute(payments.database.db)
  const accepted = (kind: string) =>
    answered.reduce((sum, row) => (row.kind === kind && row.status === 'accepted' ? sum + Number(row.amount) : sum), 0)
  const { capturedAmount, refundedAmount, voidedAmount, disputedAmount } = await merchant.get(id)
  expect({ capturedAmount, refundedAmount, voidedAmount }).toEqual({
    capturedAmount: Math.max(accepted('capture'), refundedAmount + disputedAmount),
    refundedAmount: accepted('refund'),
    voidedAmount: accepted('void'),
  })
}
