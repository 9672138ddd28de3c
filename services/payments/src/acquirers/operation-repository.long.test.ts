import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { operationException, trailEntry } from '../../test/bodies.ts'
import { createLiveMerchant, type LiveMerchant } from '../../test/live-merchant.ts'
import { createdOf, createTestApp, startPayments, type TestApp, type TestPayments } from '../../test/payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from '../../test/stub-acquirer.ts'
import { TRUSTED_COLUMNS } from '../access/caller.ts'
import { callCloseDispute, callOpenDispute } from '../disputes/dispute-repository.ts'
import { callPayOut } from '../payouts/payout-repository.ts'
import { callExpireInBatches } from '../transactions/transaction-repository.ts'
import { endConfirmations } from '../use-cases/end-confirmations.ts'

const REJECTED = { verdict: 'rejected', reason: 'closed' } as const
const ACCEPTED = { verdict: 'accepted' } as const
let north: StubAcquirer
let payments: TestPayments
let app: TestApp
let merchant: LiveMerchant
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  app = await createTestApp(payments)
})
beforeEach(async () => {
  Object.assign(north.answers, createStubAcquirer().answers)
  merchant = await createLiveMerchant(payments, app, { north })
})
afterAll(() => payments.close())

const amounts = async (id: string) => {
  const transaction = await merchant.get(id)
  const { pendingAmount, capturedAmount, refundedAmount, voidedAmount, disputedAmount } = transaction
  return [pendingAmount, capturedAmount, refundedAmount, voidedAmount, disputedAmount]
}
const pay = async () => {
  const { outcome } = await callPayOut(payments.deps.pools, {
    ...TRUSTED_COLUMNS,
    merchantId: merchant.id,
    minimumMajorUnits: 1,
    delayDays: 2,
  })
  return outcome?.verdict === 'paid' ? outcome.payout.amount : outcome?.reason
}
const dispute = async (transactionId: string, amount: number) => {
  const body = { amount, reasonCode: 4853, reasonTitle: 'x', acquirerRef: `d-${transactionId}` }
  const { outcome } = await callOpenDispute(payments.deps.pools, { ...TRUSTED_COLUMNS, transactionId, dispute: body })
  return outcome?.verdict === 'opened' ? outcome.dispute.id : ''
}
const close = (disputeId: string, outcome: 'won' | 'lost') =>
  callCloseDispute(payments.deps.pools, { ...TRUSTED_COLUMNS, disputeId, outcome })
/** Makes an operation so old that the wait for its answer is over. */
const age = (id: string) =>
  sql`UPDATE ${sql.table('acquirer_operations')} SET created = now() - interval '4 days' WHERE id = ${id}`.execute(
    payments.database.db,
  )
const end = () => endConfirmations({ ...payments.deps, db: payments.database.db, logger: pino({ enabled: false }) })

describe('an operation that the acquirer rejects', () => {
  it('a capture is taken back with its fee, once, with an entry, a line, an event and an exception', async () => {
    const id = await merchant.charge(1_300)
    const entry = await merchant.book('capture', id, 1_000)
    expect(await merchant.balance()).toBe(961)
    for (const _ of [1, 2]) await merchant.answer(entry, REJECTED)
    const { trail } = await merchant.get(id)
    expect(trail).toEqual([
      trailEntry({
        id: entry,
        created: createdOf(entry),
        amount: 1_000,
        balance: 961,
        fee: { flat: 25, rate: 14 },
        capture: true,
        lineId: anyId,
      }),
      trailEntry({
        amount: -1_000,
        balance: -961,
        fee: { flat: -25, rate: -14 },
        capture: true,
        reference: `rejected ${entry}`,
        lineId: anyId,
      }),
    ])
    expect([await amounts(id), await merchant.balance()]).toEqual([[1_300, 0, 0, 0, 0], 0])
    const url = `/lines/${trail[1].lineId}`
    expect((await payments.app.inject({ url, headers: app.headers })).json()).toEqual({
      capture: true,
      balance: -961,
      fee: -39,
      balanceAfter: 0,
      transactionId: id,
      amount: { currency: 'EUR', amount: -1_000 },
      description: `Rejected capture ${id}`,
      id: anyId,
      merchantId: merchant.id,
      test: false,
      created: anyTime,
    })
    expect(await merchant.events()).toEqual(['transaction.rejected', 'transaction.captured', 'transaction.created'])
    expect(await merchant.exceptions()).toEqual([
      operationException({
        kind: 'capture',
        money: { amount: 1_000, currency: 'EUR' },
        reason: 'closed',
        problem: 'rejected',
        operationId: entry,
        transactionId: id,
      }),
    ])
    expect(await merchant.violations()).toEqual([])
    const jobs = await payments.database.db
      .selectFrom('outbox')
      .select('kind')
      .where('merchant_id', '=', merchant.id)
      .execute()
    expect(jobs.map(({ kind }) => kind).toSorted()).toEqual(['acquirer', 'rejection_mail'])
  })

  it('a refund returns its amount and its fee, and the amount can be refunded again', async () => {
    const change = JSON.stringify({ pricing: { refund: { currency: 'EUR', amount: 7 } } })
    await sql`SELECT ${sql.table('change_merchant')}(${merchant.id}, ${change}::jsonb)`.execute(payments.owner.db)
    const id = await merchant.charge(1_000)
    await merchant.answer(await merchant.book('capture', id, 1_000), ACCEPTED)
    const entry = await merchant.book('refund', id, 400)
    expect(await merchant.balance()).toBe(961 - 407)
    await merchant.answer(entry, REJECTED)
    expect([await amounts(id), await merchant.balance()]).toEqual([[0, 1_000, 0, 0, 0], 961])
    await merchant.book('refund', id, 1_000)
    expect(await merchant.violations()).toEqual([])
  })

  it('a void makes its amount pending again, so that it can expire', async () => {
    const id = await merchant.charge(1_000)
    const entry = await merchant.book('void', id, 600)
    const { deps } = payments
    await merchant.wait(8)
    const expire = () => callExpireInBatches(deps.pools, { merchantId: merchant.id, days: 7, batches: 10 })
    await expire()
    expect(await amounts(id)).toEqual([0, 0, 0, 1_000, 0])
    await merchant.answer(entry, REJECTED)
    expect(await amounts(id)).toEqual([600, 0, 0, 400, 0])
    await expire()
    expect(await amounts(id)).toEqual([0, 0, 0, 1_000, 0])
    expect(await merchant.violations()).toEqual([])
  })

  it('one of several captures is taken back alone, and its amount can be captured again', async () => {
    const id = await merchant.charge(1_000)
    const [first, second] = [await merchant.book('capture', id, 300), await merchant.book('capture', id, 500)]
    await merchant.answer(first, REJECTED)
    await merchant.answer(second, ACCEPTED)
    expect(await amounts(id)).toEqual([500, 500, 0, 0, 0])
    await merchant.answer(await merchant.book('capture', id, 500), ACCEPTED)
    expect([await amounts(id), await merchant.violations()]).toEqual([[0, 1_000, 0, 0, 0], []])
  })

  it('a capture that was paid out makes the balance negative, until the next capture', async () => {
    const id = await merchant.charge(2_000)
    const entry = await merchant.book('capture', id, 1_000)
    // Payouts exclude captures without an answer. A capture that has no row in `acquirer_operations` counts as accepted.
    const { db } = payments.database
    const [open] = await db.deleteFrom('acquirer_operations').where('id', '=', entry).returningAll().execute()
    await merchant.wait(3)
    expect(await pay()).toBe(961n)
    if (open) await db.insertInto('acquirer_operations').values(open).execute()
    await merchant.answer(entry, REJECTED)
    expect([await amounts(id), await merchant.balance()]).toEqual([[2_000, 0, 0, 0, 0], -961])
    await merchant.answer(await merchant.book('capture', id, 2_000), ACCEPTED)
    expect([await merchant.balance(), await merchant.violations()]).toEqual([2_000 - 52 - 961, []])
  })

  it.each([
    [ACCEPTED, REJECTED, 'rejected, after it was accepted'],
    [REJECTED, ACCEPTED, 'accepted, after it was rejected'],
  ])('after %j, the answer %j changes nothing and is kept for the operator', async (first, second, problem) => {
    const id = await merchant.charge(1_000)
    const entry = await merchant.book('capture', id, 1_000)
    await merchant.answer(entry, first)
    const before = await amounts(id)
    for (const _ of [1, 2]) await merchant.answer(entry, second)
    expect(await amounts(id)).toEqual(before)
    const reason = second.verdict === 'rejected' ? second.reason : null
    expect((await merchant.exceptions()).at(-1)).toEqual(
      operationException({ money: { amount: 1_000, currency: 'EUR' }, reason, problem }),
    )
    expect(await merchant.violations()).toEqual([])
  })
})

describe('payouts', () => {
  it('leave out a capture until the acquirer has accepted it', async () => {
    const [open, accepted] = [await merchant.charge(1_000), await merchant.charge(500)]
    const entry = await merchant.book('capture', open, 1_000)
    await merchant.answer(await merchant.book('capture', accepted, 500), ACCEPTED)
    await merchant.wait(3)
    expect(await pay()).toBe(468n)
    await merchant.answer(entry, ACCEPTED)
    await merchant.wait(4)
    expect(await pay()).toBe(961n)
  })

  it('never pay a capture that was rejected, whether it was due or not', async () => {
    const [old, young] = [await merchant.charge(1_000), await merchant.charge(700)]
    const oldEntry = await merchant.book('capture', old, 1_000)
    await merchant.wait(3)
    await merchant.answer(oldEntry, REJECTED)
    expect(await pay()).toBe('below_minimum')
    await merchant.wait(0)
    await merchant.answer(await merchant.book('capture', young, 700), REJECTED)
    await merchant.answer(await merchant.book('capture', young, 400), ACCEPTED)
    expect(await pay()).toBe('below_minimum')
    await merchant.wait(5)
    expect(await pay()).toBe(370n)
    expect(await merchant.violations()).toEqual([])
  })
})

describe('a rejected capture whose money is refunded or disputed', () => {
  it.each(['refund first', 'capture first'])('a refund of it is rejected too, %s', async (order) => {
    const id = await merchant.charge(1_000)
    const entries = [await merchant.book('capture', id, 1_000), await merchant.book('refund', id, 300)]
    for (const entry of order === 'refund first' ? entries.toReversed() : entries)
      await merchant.answer(entry, REJECTED)
    expect([await amounts(id), await merchant.balance()]).toEqual([[1_000, 0, 0, 0, 0], 0])
    expect(await merchant.violations()).toEqual([])
  })

  it('the amount that refunds have taken stays owed, until a later capture covers it', async () => {
    const id = await merchant.charge(1_000)
    const [capture, refund] = [await merchant.book('capture', id, 500), await merchant.book('refund', id, 200)]
    await merchant.answer(refund, ACCEPTED)
    await merchant.answer(capture, REJECTED)
    expect([await amounts(id), await merchant.balance()]).toEqual([[800, 200, 200, 0, 0], 0])
    expect(await merchant.exceptions()).toEqual([
      operationException({
        money: { amount: 500, currency: 'EUR' },
        reason: 'closed',
        problem: 'rejected',
        operationId: capture,
        transactionId: id,
        owed: 200,
      }),
    ])
    await merchant.answer(await merchant.book('capture', id, 500), ACCEPTED)
    expect([await amounts(id), await merchant.balance()]).toEqual([[500, 500, 200, 0, 0], 268])
    expect(await merchant.violations()).toEqual([])
  })

  it('a won dispute returns its money to the rejection, and a lost dispute keeps it', async () => {
    const disputed = async (outcome: 'won' | 'lost') => {
      const id = await merchant.charge(1_000)
      const entry = await merchant.book('capture', id, 1_000)
      const disputeId = await dispute(id, 1_000)
      await merchant.answer(entry, REJECTED)
      expect(await amounts(id)).toEqual([0, 1_000, 0, 0, 1_000])
      await close(disputeId, outcome)
      return amounts(id)
    }
    expect([await disputed('won'), await merchant.balance()]).toEqual([[1_000, 0, 0, 0, 0], 0])
    expect([await disputed('lost'), await merchant.balance()]).toEqual([[0, 1_000, 0, 0, 1_000], 961 - 1_000 - 2_500])
    expect(await merchant.violations()).toEqual([])
  })
})

describe('an operation without an answer', () => {
  it('counts as rejected when the wait is over, is inquired about once more, and is no longer tracked', async () => {
    const id = await merchant.charge(1_000)
    const [lost, found] = [await merchant.book('capture', id, 600), await merchant.book('capture', id, 400)]
    await end()
    for (const entry of [lost, found]) await age(entry)
    north.answers.submit = async ({ operationId }) =>
      operationId === found ? ACCEPTED : Promise.reject(new Error('away'))
    for (const _ of [1, 2]) await end()
    expect(await amounts(id)).toEqual([600, 400, 0, 0, 0])
    expect(await merchant.exceptions()).toEqual([
      operationException({
        money: { amount: 600, currency: 'EUR' },
        problem: 'unanswered',
        operationId: lost,
        transactionId: id,
      }),
    ])
    expect(await merchant.violations()).toEqual([])
  })

  it('counts as rejected when its late answer contradicts the books', async () => {
    const id = await merchant.charge(1_000)
    await age(await merchant.book('capture', id, 600))
    north.answers.submit = async () => ({ verdict: 'rejected', reason: 'no\0pe' })
    await end()
    expect([await amounts(id), await merchant.balance()]).toEqual([[1_000, 0, 0, 0, 0], 0])
    expect(await merchant.exceptions()).toEqual([
      operationException({
        money: { amount: 600, currency: 'EUR' },
        reason: null,
        problem: 'unanswered',
        transactionId: id,
      }),
    ])
    expect(await merchant.violations()).toEqual([])
  })

  it.each(['capture', 'refund', 'void'] as const)(
    '%s that is accepted after all is booked again, and not sent to the acquirer',
    async (kind) => {
      const id = await merchant.charge(1_000)
      if (kind === 'refund') await merchant.answer(await merchant.book('capture', id, 1_000), ACCEPTED)
      const entry = await merchant.book(kind, id, 400)
      const before = [await amounts(id), await merchant.balance()]
      await age(entry)
      north.answers.submit = () => Promise.reject(new Error('away'))
      await end()
      expect(await amounts(id)).not.toEqual(before[0])
      for (const _ of [1, 2]) await merchant.answer(entry, ACCEPTED)
      expect([await amounts(id), await merchant.balance()]).toEqual(before)
      const { amount, reference } = (await merchant.get(id)).trail.at(-1)
      expect([amount, reference]).toEqual([400, `accepted ${entry}`])
      const { rows } = await sql<{ open: number }>`
      SELECT count(*)::int AS open FROM ${sql.table('acquirer_operations')}
      WHERE merchant_id = ${merchant.id} AND status = 'open'`.execute(payments.database.db)
      expect([rows, await merchant.violations()]).toEqual([[{ open: 0 }], []])
    },
  )

  it('is kept for the operator, and not booked, when it is accepted after its amount is gone', async () => {
    const id = await merchant.charge(1_000)
    const entry = await merchant.book('capture', id, 600)
    await age(entry)
    north.answers.submit = () => Promise.reject(new Error('away'))
    await end()
    await merchant.book('void', id, 1_000)
    const before = await amounts(id)
    await merchant.answer(entry, ACCEPTED)
    expect(await amounts(id)).toEqual(before)
    expect(await merchant.exceptions()).toEqual([
      operationException({
        money: { amount: 600, currency: 'EUR' },
        problem: 'unanswered',
        operationId: entry,
        transactionId: id,
      }),
      operationException({
        money: { amount: 600, currency: 'EUR' },
        problem: 'accepted, after it was unanswered',
        operationId: entry,
        transactionId: id,
      }),
    ])
  })
})

it('the same answer in many processes at once is booked once', async () => {
  const id = await merchant.charge(1_000)
  const entry = await merchant.book('capture', id, 1_000)
  await Promise.all(Array.from({ length: 8 }, () => merchant.answer(entry, REJECTED)))
  expect([await amounts(id), await merchant.balance()]).toEqual([[1_000, 0, 0, 0, 0], 0])
  expect(await merchant.violations()).toEqual([])
})
