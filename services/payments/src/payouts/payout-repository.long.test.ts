import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { readLinks, recomputeChain } from '../../test/ledger-fixtures.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { TRUSTED_COLUMNS } from '../access/caller.ts'
import { callCloseDispute, callOpenDispute } from '../disputes/dispute-repository.ts'
import { CHAIN_START } from '../ledger/chain.ts'
import { callAdvanceClock } from '../merchants/merchant-repository.ts'
import { type DisputedTransaction, disputeReserve, planPayout } from './payout-plan.model.ts'
import { callPayOut } from './payout-repository.ts'

let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

const DAY_SECONDS = 86_400
const AMOUNT = 10_000

/** A step that may happen to a merchant before a payout. `place` is the position of the transaction. */
type Step =
  | { readonly step: 'charge'; readonly currency: string }
  | { readonly step: 'capture'; readonly place: number; readonly amount: number }
  | { readonly step: 'dispute'; readonly place: number; readonly amount: number }
  | { readonly step: 'close'; readonly place: number; readonly outcome: 'won' | 'lost' }
  | { readonly step: 'wait'; readonly days: number }
  | { readonly step: 'payout'; readonly minimumMajorUnits: number; readonly delayDays: number }

const place = fc.nat({ max: 3 })
// Half of the captures are worth less than their fee.
const amount = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 4_000 }))
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ step: fc.constant('charge' as const), currency: fc.constantFrom('EUR', 'DKK', 'JPY', 'KWD') }),
  { weight: 4, arbitrary: fc.record({ step: fc.constant('capture' as const), place, amount }) },
  { weight: 3, arbitrary: fc.record({ step: fc.constant('dispute' as const), place, amount }) },
  fc.record({ step: fc.constant('close' as const), place, outcome: fc.constantFrom('won' as const, 'lost' as const) }),
  fc.record({ step: fc.constant('wait' as const), days: fc.nat({ max: 3 }) }),
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('payout' as const),
      minimumMajorUnits: fc.constantFrom(0, 1, 20),
      delayDays: fc.nat({ max: 2 }),
    }),
  },
)

/** Reads the input of the model from the database. */
async function readPosition(merchantId: string, delayDays: number) {
  const { db } = payments.database
  const { rows } = await sql<DisputedTransaction>`
    SELECT refunded + lost AS reversed, disputed - lost AS open, array(
      SELECT json_build_object('amount', e.amount, 'gross', e.gross) FROM ${sql.table('trail_entries')} e
      WHERE e.merchant_id = ${merchantId} AND e.transaction_id = t.id AND e.kind = 'capture' ORDER BY e.seq
    ) AS captures FROM ${sql.table('transactions')} t WHERE merchant_id = ${merchantId}`.execute(db)
  const due = await sql<{ balance: bigint; offset: bigint; young: bigint | null }>`
    SELECT b.balance, clock_offset AS offset, (SELECT sum(l.balance)::bigint FROM ${sql.table('lines')} l
      WHERE l.merchant_id = ${merchantId} AND l.kind = 'capture' AND l.balance > 0 AND l.created + ${delayDays}::int * interval '1 day'
        > now() + clock_offset * interval '1 second') AS young
    FROM ${sql.table('merchant_balances')} b WHERE merchant_id = ${merchantId}`.execute(db)
  const [{ balance = 0n, young = 0n } = {}] = due.rows
  const disputed = rows.map(({ captures, ...row }) => ({
    ...row,
    captures: captures.map((c) => ({ amount: BigInt(c.amount), gross: BigInt(c.gross) })),
  }))
  const beyond = await sql<{ excess: bigint | null }>`
    SELECT sum(excess_gross)::bigint AS excess FROM ${sql.table('disputes')}
    WHERE merchant_id = ${merchantId} AND status = 'open'`.execute(db)
  return { balance, reserve: disputeReserve(disputed) + (beyond.rows[0]?.excess ?? 0n), notYetDue: young ?? 0n }
}

it('payout agrees with its model after any sequence of steps, and never pays what an open dispute may take', async () => {
  let paid = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 25 }),
      fc.constantFrom('EUR', 'USD', 'DKK'),
      fc.boolean(),
      async (steps, currency, hasIban) => {
        const bank = hasIban ? { iban: 'DK5000400440116243' } : undefined
        const { id: merchantId } = await createTestMerchant(payments, app, { test: true, currency, bank })
        const charges: string[] = [await customerPayment(payments, merchantId, { amount: AMOUNT })]
        await capture(payments, app, charges[0] ?? '', 3_000)
        const open = new Map<string, string[]>()
        const at = (wanted: number) => charges[wanted % charges.length] ?? ''
        const { pools } = payments.database
        for (const next of steps) {
          if (next.step === 'charge') {
            charges.push(await customerPayment(payments, merchantId, { amount: AMOUNT, currency: next.currency }))
          } else if (next.step === 'capture') {
            await capture(payments, app, at(next.place), next.amount).catch(() => {})
          } else if (next.step === 'dispute') {
            const dispute = { amount: next.amount, reasonCode: 4853, reasonTitle: 'x' }
            const { outcome } = await callOpenDispute(pools, {
              ...TRUSTED_COLUMNS,
              transactionId: at(next.place),
              dispute,
            })
            if (outcome?.verdict === 'opened') {
              open.set(at(next.place), [...(open.get(at(next.place)) ?? []), outcome.dispute.id])
            }
          } else if (next.step === 'close') {
            const disputeId = open.get(at(next.place))?.pop()
            if (disputeId) await callCloseDispute(pools, { ...TRUSTED_COLUMNS, disputeId, outcome: next.outcome })
          } else if (next.step === 'wait') {
            await callAdvanceClock(pools, { ...TRUSTED_COLUMNS, merchantId, advance: next.days * DAY_SECONDS })
          } else {
            // Advance the clock by a day before each payout, because a merchant is paid out once a day.
            await callAdvanceClock(pools, { ...TRUSTED_COLUMNS, merchantId, advance: DAY_SECONDS })
            const { minimumMajorUnits, delayDays } = next
            const position = await readPosition(merchantId, delayDays)
            const minor = BigInt(minimumMajorUnits) * 100n
            const plan = planPayout({ ...position, minimum: minor, hasIban })
            const { outcome } = await callPayOut(pools, {
              ...TRUSTED_COLUMNS,
              merchantId,
              minimumMajorUnits,
              delayDays,
            })
            if (plan.verdict === 'skip') expect(outcome).toEqual({ verdict: 'skipped', reason: plan.reason })
            else {
              expect(outcome?.verdict === 'paid' && outcome.payout.amount).toBe(plan.amount)
              // The remaining balance covers everything that open disputes and recent captures may still take.
              const left = await readPosition(merchantId, delayDays)
              expect(left.balance).toBeGreaterThanOrEqual(left.reserve + left.notYetDue)
            }
            paid += plan.verdict === 'pay' ? 1 : 0
          }
        }
        recomputeChain(await readLinks(payments.database.db, merchantId), CHAIN_START)
      },
    ),
    { numRuns: 25 },
  )
  expect(paid).toBeGreaterThan(0)
})
