import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { disputeRequests } from '../../test/dispute-requests.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { TEST_IBAN } from '../../test/payout-requests.ts'
import { OPERATOR } from '../access/caller.ts'
import { callAdjust } from '../ledger/line-repository.ts'
import { callAdvanceClock } from '../merchants/merchant-repository.ts'
import { type PayoutPlan, type PayoutPosition, planPayout } from './payout-plan.model.ts'
import { callPayOut } from './payout-repository.ts'

let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
})
afterAll(() => payments.close())

const position = { balance: 1_000n, reserve: 0n, notYetDue: 0n, minimum: 100n, hasIban: true }
const pays = (amount: bigint) => ({ verdict: 'pay', amount }) as const
const skips = (reason: 'negative' | 'below_minimum' | 'no_iban') => ({ verdict: 'skip', reason }) as const

const EDGES: readonly (readonly [title: string, PayoutPosition, PayoutPlan])[] = [
  ['pays the whole balance', position, pays(1_000n)],
  [
    'pays the minimum that is left after open disputes and young captures',
    { ...position, reserve: 300n, notYetDue: 600n },
    pays(100n),
  ],
  ['skips 1 less than the minimum', { ...position, reserve: 300n, notYetDue: 601n }, skips('below_minimum')],
  ['skips a balance of 0, also without a minimum', { ...position, balance: 0n, minimum: 0n }, skips('below_minimum')],
  ['pays 1 without a minimum', { ...position, balance: 1n, minimum: 0n }, pays(1n)],
  ['skips a balance of which open disputes may take more', { ...position, reserve: 1_001n }, skips('negative')],
  [
    'calls a balance below 0 negative, also without an IBAN',
    { ...position, balance: -1n, hasIban: false },
    skips('negative'),
  ],
  [
    'calls a small balance below the minimum, also without an IBAN',
    { ...position, balance: 99n, hasIban: false },
    skips('below_minimum'),
  ],
  ['skips a merchant without an IBAN', { ...position, hasIban: false }, skips('no_iban')],
]

it.each(EDGES)('the model %s', (_title, figures, plan) => {
  expect(planPayout(figures)).toEqual(plan)
})

it.each(EDGES)('the SQL function %s', async (_title, figures, plan) => {
  const merchantId = await merchantWith(figures)
  const minimumMajorUnits = Number(figures.minimum / 100n)
  const call = { ...OPERATOR, merchantId, minimumMajorUnits, delayDays: DELAY_DAYS }
  const { outcome } = await callPayOut(payments.database.lanes, call)
  const paid = outcome?.verdict === 'paid' ? pays(outcome.payout.amount) : undefined
  expect(paid ?? { verdict: 'skip', reason: outcome?.verdict === 'skipped' && outcome.reason }).toEqual(plan)
})

const DELAY_DAYS = 1
const DAY_SECONDS = 86_400

/**
 * Makes a test merchant with these figures: a capture, a dispute that takes the reserve of it, and an adjustment for the rest.
 * Captures have the time of the service, so only the clock makes a capture due.
 */
async function merchantWith({ balance, reserve, notYetDue, hasIban }: PayoutPosition): Promise<string> {
  const bank = hasIban ? { iban: TEST_IBAN } : undefined
  const { id: merchantId } = await createTestMerchant(payments, member, { test: true, currency: 'EUR', bank })
  const { lanes } = payments.owner
  const captured = notYetDue > 0n ? grossOf(Number(notYetDue)) : Number(reserve)
  if (captured > 0) {
    const transactionId = await customerPayment(payments, merchantId, { amount: captured })
    await capture(payments, member, transactionId, captured)
    if (reserve > 0n) await disputeRequests(payments, member).open(transactionId, { amount: Number(reserve) })
  }
  if (notYetDue === 0n) await callAdvanceClock(lanes, { ...OPERATOR, merchantId, advance: DELAY_DAYS * DAY_SECONDS })
  const present = (await readFigures(merchantId)).balance
  if (present !== balance) await callAdjust(lanes, { merchantId, amount: Number(balance - present), text: 'The rest' })
  expect(await readFigures(merchantId)).toEqual({ balance, reserve, notYetDue })
  return merchantId
}

/** The amount of a capture of which this is left after its fee: 135 basis points and EUR 0.25. */
function grossOf(net: number): number {
  return Math.round((net + 25) / (1 - 0.0135))
}

/** The figures that the SQL function decides by. */
async function readFigures(merchantId: string): Promise<Pick<PayoutPosition, 'balance' | 'reserve' | 'notYetDue'>> {
  const { db } = payments.owner
  // A cluster calls such a function with a value, not with the row of a table.
  const { rows } = await sql<Pick<PayoutPosition, 'reserve' | 'notYetDue'>>`
    SELECT ${sql.table('dispute_reserve')}(${merchantId}) AS reserve,
      ${sql.table('not_yet_due')}(
        ${merchantId}, ${sql.table('merchant_now')}(${merchantId}) - ${DELAY_DAYS}::int * interval '1 day'
      ) AS "notYetDue"`.execute(db)
  const [figures] = rows
  if (!figures) throw new Error('a statement without a table has one row')
  const { balance } = await db
    .selectFrom('merchant_balances')
    .select('balance')
    .where('merchant_id', '=', merchantId)
    .executeTakeFirstOrThrow()
  return { balance, ...figures }
}
