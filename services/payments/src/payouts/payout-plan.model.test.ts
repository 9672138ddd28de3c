import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { disputeRequests } from '../../test/dispute-requests.ts'
import { createLiveMerchant } from '../../test/live-merchant.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { TEST_IBAN } from '../../test/payout-requests.ts'
import { createStubAcquirer } from '../../test/stub-acquirer.ts'
import { TRUSTED_COLUMNS } from '../access/caller.ts'
import { callAdjust } from '../ledger/line-repository.ts'
import { callAdvanceClock } from '../merchants/merchant-repository.ts'
import type { PayoutSkip } from './payout.ts'
import { type PayoutPlan, type PayoutPosition, planPayout } from './payout-plan.model.ts'
import { callPayOut } from './payout-repository.ts'

let payments: TestPayments
let member: TestApp
const north = createStubAcquirer()
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  member = await createTestApp(payments)
})
afterAll(() => payments.close())

const position = { balance: 1_000n, reserve: 0n, notYetDue: 0n, minimum: 100n, hasIban: true }
const pays = (amount: bigint) => ({ verdict: 'pay', amount }) as const
const skips = (reason: PayoutSkip) => ({ verdict: 'skip', reason }) as const

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
  ['skips a merchant whose events wait', { ...position, eventsWait: true }, skips('events_waiting')],
  ['skips a merchant without an IBAN', { ...position, hasIban: false }, skips('no_iban')],
]

it.each(EDGES)('the model %s', (_title, figures, plan) => {
  expect(planPayout(figures)).toEqual(plan)
})

it.each(EDGES)('the SQL function %s', async (_title, figures, plan) => {
  const merchantId = await merchantWith(figures)
  if (figures.eventsWait) await keepWaiting(merchantId)
  const minimumMajorUnits = Number(figures.minimum / 100n)
  const call = { ...TRUSTED_COLUMNS, merchantId, minimumMajorUnits, delayDays: DELAY_DAYS }
  const { outcome } = await callPayOut(payments.database.pools, call)
  const paid = outcome?.verdict === 'paid' ? pays(outcome.payout.amount) : undefined
  expect(paid ?? { verdict: 'skip', reason: outcome?.verdict === 'skipped' && outcome.reason }).toEqual(plan)
})

it('a payout takes no more than the balance where young captures are worth less than their fees', async () => {
  const { id: merchantId } = await createTestMerchant(payments, member, {
    test: true,
    currency: 'EUR',
    bank: { iban: TEST_IBAN },
  })
  await callAdjust(payments.owner.pools, { merchantId, amount: 3_000, text: 'Due money' })
  const transactionId = await customerPayment(payments, merchantId, { amount: 1_000 })
  // Each capture brings EUR 0.01 and costs a fee of EUR 0.25.
  for (let nth = 0; nth < 30; nth++) await capture(payments, member, transactionId, 1)
  const young = await customerPayment(payments, merchantId, { amount: 1_000 })
  await capture(payments, member, young, 1_000)
  expect(await readFigures(merchantId)).toEqual({ balance: 3_241n, reserve: 0n, notYetDue: 961n })
  const call = { ...TRUSTED_COLUMNS, merchantId, minimumMajorUnits: 1, delayDays: DELAY_DAYS }
  const { outcome } = await callPayOut(payments.database.pools, call)
  expect(outcome?.verdict === 'paid' && outcome.payout.amount).toBe(2_280n)
})

it('the balance bounds a payout, whatever is held back', async () => {
  const merchantId = await merchantWith(position)
  const { db, pools } = payments.owner
  const { rows } = await sql<{ definition: string }>`
    SELECT pg_get_functiondef('payments.not_yet_due(text, timestamptz)'::regprocedure) AS definition
  `.execute(db)
  await sql`
    CREATE OR REPLACE FUNCTION ${sql.table('not_yet_due')}(p_merchant_id text, p_since timestamptz) RETURNS bigint
    LANGUAGE sql STABLE AS $$ SELECT -5000::bigint $$`.execute(db)
  const { outcome } = await callPayOut(pools, {
    ...TRUSTED_COLUMNS,
    merchantId,
    minimumMajorUnits: 1,
    delayDays: DELAY_DAYS,
  })
  await sql.raw(rows[0]?.definition ?? '').execute(db)
  expect(outcome?.verdict === 'paid' && outcome.payout.amount).toBe(position.balance)
})

it('a rejected capture withholds nothing, whatever it was worth', async () => {
  const merchant = await createLiveMerchant(payments, member, { north })
  const [small, large, partial] = [await merchant.charge(1), await merchant.charge(1_000), await merchant.charge(1_000)]
  await merchant.answer(await merchant.book('capture', small, 1), { verdict: 'rejected', reason: 'no' })
  await merchant.answer(await merchant.book('capture', large, 1_000), { verdict: 'rejected', reason: 'no' })
  expect(await readFigures(merchant.id)).toEqual({ balance: 0n, reserve: 0n, notYetDue: 0n })
  // The refunded part cannot be taken back yet, so it stays withheld.
  const captured = await merchant.book('capture', partial, 1_000)
  await merchant.book('refund', partial, 400)
  await merchant.answer(captured, { verdict: 'rejected', reason: 'no' })
  expect(await readFigures(merchant.id)).toEqual({ balance: 0n, reserve: 0n, notYetDue: 400n })
})

/** Holds back the payouts of a merchant as the SQL function `hold_events` does. That function accepts only live merchants. */
async function keepWaiting(merchantId: string): Promise<void> {
  const { db } = payments.owner
  await sql`
    INSERT INTO ${sql.table('acquirer_exceptions')} (merchant_id, id, created, payload, reserved)
    VALUES (${merchantId}, ${'f'.repeat(24)}, now(), '{"type":"events.waiting"}', NULL)`.execute(db)
  await sql`
    SELECT ${sql.table('record_states')}(${merchantId}, 'acquirer_exceptions', ARRAY[${'f'.repeat(24)}])`.execute(db)
}

const DELAY_DAYS = 1
const DAY_SECONDS = 86_400

/**
 * Creates a test merchant with these figures. It makes one capture, a dispute for the reserve, and an adjustment for the rest.
 * Captures use the time of the service, so they become due only when the test clock advances.
 */
async function merchantWith({ balance, reserve, notYetDue, hasIban }: PayoutPosition): Promise<string> {
  const bank = hasIban ? { iban: TEST_IBAN } : undefined
  const { id: merchantId } = await createTestMerchant(payments, member, { test: true, currency: 'EUR', bank })
  const { pools } = payments.owner
  const captured = notYetDue > 0n ? grossOf(Number(notYetDue)) : Number(reserve)
  if (captured > 0) {
    const transactionId = await customerPayment(payments, merchantId, { amount: captured })
    await capture(payments, member, transactionId, captured)
    if (reserve > 0n) await disputeRequests(payments, member).open(transactionId, { amount: Number(reserve) })
  }
  if (notYetDue === 0n)
    await callAdvanceClock(pools, { ...TRUSTED_COLUMNS, merchantId, advance: DELAY_DAYS * DAY_SECONDS })
  const present = (await readFigures(merchantId)).balance
  if (present !== balance) await callAdjust(pools, { merchantId, amount: Number(balance - present), text: 'The rest' })
  expect(await readFigures(merchantId)).toEqual({ balance, reserve, notYetDue })
  return merchantId
}

/** Returns the capture amount that leaves `net` after the fee of 135 basis points and EUR 0.25. */
function grossOf(net: number): number {
  return Math.round((net + 25) / (1 - 0.0135))
}

/** Reads the figures from which the SQL function decides. */
async function readFigures(merchantId: string): Promise<Pick<PayoutPosition, 'balance' | 'reserve' | 'notYetDue'>> {
  const { db } = payments.owner
  // On a cluster, such a function must be called with a value, not with a column of a table.
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
