import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { TRUSTED_COLUMNS } from '../src/access/caller.ts'
import { adjustCommand } from '../src/commands/merchants.ts'
import { callPayOut } from '../src/payouts/payout-repository.ts'
import { refusedField, statusAndBody } from './bodies.ts'
import { customerPayment } from './customer-payment.ts'
import { disputeRequests } from './dispute-requests.ts'
import { operatorHeaders, testOperators } from './operators.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  turnOffTriggers,
} from './payments-app.ts'
import { commandRunner } from './run-command.ts'

const LARGEST = 9_223_372_036_854_775_807n
const REFUSED = refusedField('balance', 'would be beyond 9223372036854775807', 'LIMIT_EXCEEDED')

let payments: TestPayments
let app: TestApp
let requests: ReturnType<typeof disputeRequests>
/** A test merchant in EUR. */
let merchantId: string
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators, lockTimeoutMs: 30_000 })
  app = await createTestApp(payments)
  requests = disputeRequests(payments, app)
})
beforeEach(async () => {
  const bank = { iban: 'DK5000400440116243' }
  merchantId = (await createTestMerchant(payments, app, { test: true, currency: 'EUR', bank })).id
})
afterAll(() => payments.close())

async function setBalance(balance: bigint): Promise<void> {
  await payments.database.db.transaction().execute(async (trx) => {
    await turnOffTriggers(trx)
    await trx.updateTable('merchant_balances').set({ balance }).where('merchant_id', '=', merchantId).execute()
  })
}

/** Returns the merchant's balance and its movements. */
async function booked() {
  const { db } = payments.database
  const balances = db.selectFrom('merchant_balances').selectAll().where('merchant_id', '=', merchantId)
  const transactions = db.selectFrom('transactions').selectAll().where('merchant_id', '=', merchantId)
  const keys = db.selectFrom('idempotency').select('key').where('merchant_id', '=', merchantId)
  return [await balances.execute(), await transactions.execute(), await keys.execute()]
}
const readBalance = async () =>
  (
    await payments.database.db
      .selectFrom('merchant_balances')
      .select('balance')
      .where('merchant_id', '=', merchantId)
      .executeTakeFirstOrThrow()
  ).balance

const { run } = commandRunner([adjustCommand], () => operatorDeps(payments))

describe('a movement that would take a balance beyond bigint', () => {
  const key = { 'idempotency-key': 'largest' }
  it.each<[string, bigint, (id: string) => ReturnType<typeof requests.post>]>([
    ['a capture', LARGEST, (id) => requests.post(`/transactions/${id}/captures`, { amount: 200 }, key)],
    ['a refund', -LARGEST, (id) => requests.post(`/transactions/${id}/refunds`, { amount: 50 }, key)],
    [
      'a capture of an operator',
      LARGEST,
      (id) =>
        requests.post(
          `/operator/transactions/${id}/captures`,
          { amount: 200 },
          { ...operatorHeaders('admin'), 'idempotency-key': '7d1f7c7e-6a53-4b51-b1c7-8a2b0a4f8a01' },
        ),
    ],
  ])('is refused, and changes nothing: %s', async (_name, balance, act) => {
    const id = await requests.captured(merchantId, 100)
    await setBalance(balance)
    const before = await booked()
    expect([statusAndBody(await act(id)), await booked()]).toEqual([REFUSED, before])
  })

  it('is refused, and changes nothing: a dispute that is lost', async () => {
    const dispute = await requests.open(await requests.captured(merchantId))
    await setBalance(-LARGEST)
    const before = await booked()
    const answer = await requests.close(dispute.id, 'lost', key)
    expect([statusAndBody(answer), await booked()]).toEqual([REFUSED, before])
  })

  it.each([
    ['+2', LARGEST - 1n],
    ['-2', 1n - LARGEST],
  ])('is refused, and changes nothing: an adjustment of %s', async (amount, balance) => {
    await setBalance(balance)
    const before = await booked()
    await expect(run('adjust', merchantId, amount, 'x')).rejects.toThrow(
      `the balance of ${merchantId} would be beyond 9223372036854775807`,
    )
    expect(await booked()).toEqual(before)
  })

  it('is refused alone: captures of other merchants that arrive with it are carried out', async () => {
    const other = await createTestMerchant(payments, app, { test: true, currency: 'EUR' })
    const ids = [merchantId, other.id, merchantId, other.id, other.id]
    const paid = await Promise.all(ids.map((each) => customerPayment(payments, each)))
    await setBalance(LARGEST)
    const answers = await Promise.all(paid.map((id) => requests.post(`/transactions/${id}/captures`, { amount: 300 })))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 201, 400, 201, 201])
    expect([answers[0], answers[2]].map((answer) => answer && statusAndBody(answer))).toEqual([REFUSED, REFUSED])
  })
})

it.each([
  ['+1', LARGEST - 1n, LARGEST],
  ['-1', 1n - LARGEST, -LARGEST],
])('an adjustment of %s reaches the end of bigint', async (amount, before, after) => {
  await setBalance(before)
  await run('adjust', merchantId, amount, 'x')
  expect(await readBalance()).toBe(after)
})

it('a payout is skipped where captures that are not due are worth more than bigint holds', async () => {
  for (const amount of [100, 200, 300]) await requests.captured(merchantId, amount)
  await payments.database.db.transaction().execute(async (trx) => {
    await turnOffTriggers(trx)
    await trx.updateTable('lines').set({ balance: LARGEST }).where('merchant_id', '=', merchantId).execute()
  })
  const call = { ...TRUSTED_COLUMNS, merchantId, minimumMajorUnits: 1, delayDays: 1 }
  const { outcome } = await callPayOut(payments.deps.pools, call)
  expect(outcome).toEqual({ verdict: 'skipped', reason: 'negative' })
})
