import { anyId } from '@trestle/testing/any-text.ts'
import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { callAddException } from '../src/acquirers/exception-repository.ts'
import { exceptionsCommand } from '../src/commands/transactions.ts'
import { createLiveMerchant, type LiveMerchant } from './live-merchant.ts'
import { createTestApp, operatorDeps, startPayments, type TestApp, type TestPayments } from './payments-app.ts'
import { commandRunner } from './run-command.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

const north = createStubAcquirer()
let payments: TestPayments
let app: TestApp
/** A live merchant with a balance of EUR 9.61. An exception holds back 9.00 of it. */
let merchant: LiveMerchant
let exceptionId: string
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  app = await createTestApp(payments)
})
afterAll(() => payments.close())
beforeEach(async () => {
  merchant = await createLiveMerchant(payments, app, { north })
  await byHand(sql`SELECT * FROM ${sql.table('adjust')}(${merchant.id}, 961, 'Goodwill')`)
  await report('event north:D1', 900)
  const query = payments.database.db.selectFrom('acquirer_exceptions').select('id')
  exceptionId = (await query.where('merchant_id', '=', merchant.id).executeTakeFirstOrThrow()).id
})

const { run } = commandRunner([exceptionsCommand], () => operatorDeps(payments))

/** Runs a statement as the database owner. */
const byHand = (statement: RawBuilder<unknown>) => statement.execute(payments.owner.db)

/** Stores an exception, as the service does. */
const report = (reference: string, amount: number | undefined) =>
  callAddException(payments.service.db, {
    merchantId: merchant.id,
    reference,
    payload: { acquirer: 'north' },
    disputed: amount === undefined ? undefined : { amount },
  })

const set = (assignment: RawBuilder<unknown>) =>
  byHand(sql`UPDATE ${sql.table('acquirer_exceptions')} SET ${assignment} WHERE id = ${exceptionId}`)
const payOut = async () => {
  const { rows } = await sql<object>`
    SELECT verdict, (payout).amount FROM ${sql.table('pay_out')}(NULL, ${merchant.id}, 0, 0)`.execute(
    payments.service.db,
  )
  return rows
}
const adjust = () => byHand(sql`SELECT * FROM ${sql.table('adjust')}(${merchant.id}, -1, 'Lost', ${exceptionId})`)
const resolve = () => run('exceptions', 'resolve', merchant.id, exceptionId)

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    ({ code, message }) => ({ code, message }),
  )
const refusal = (what: string) => ({
  code: 'TL001',
  message: `${exceptionId} of acquirer_exceptions: ${what} by hand; look with: payments ledger verify`,
})
const acts: readonly [string, () => Promise<unknown>][] = [
  ['a payout', payOut],
  ['an adjustment', adjust],
  ['its resolution', resolve],
  ['a report of the acquirer', () => report('event north:D1', 900)],
]

describe('an exception that holds back money', () => {
  it.each<[string, RawBuilder<unknown>]>([
    ['no amount', sql`reserved = 0`],
    ['a smaller amount', sql`reserved = 1`],
    ['the time of its resolution', sql`resolved = '2026-01-01'`],
  ])('is refused by whatever rests on it while its row was given %s', async (_title, assignment) => {
    await set(assignment)
    const what = `what moves money was changed`
    for (const [, act] of acts) expect(await failureOf(act())).toEqual(refusal(what))
    const message = 'what moves money was changed: one of reserved, resolved'
    expect(await merchant.violations()).toEqual([
      { merchantId: merchant.id, invariant: 17, table: 'acquirer_exceptions', id: exceptionId, message },
    ])
    await set(sql`reserved = 900, resolved = NULL`)
    expect([await payOut(), await merchant.violations()]).toEqual([[{ verdict: 'done', amount: 61n }], []])
  })

  it('is missed once its row is deleted', async () => {
    await byHand(sql`DELETE FROM ${sql.table('acquirer_exceptions')} WHERE id = ${exceptionId}`)
    for (const [, act] of acts) expect(await failureOf(act())).toEqual(refusal('the row was deleted'))
    const message = 'was recorded and is gone'
    expect(await merchant.violations()).toEqual([
      { merchantId: merchant.id, invariant: 17, table: 'acquirer_exceptions', id: exceptionId, message },
    ])
  })

  it('is found where it was put in by hand, and stops the payout', async () => {
    const planted = 'f'.repeat(24)
    await byHand(sql`
      INSERT INTO ${sql.table('acquirer_exceptions')} (merchant_id, id, created, payload, reserved)
      VALUES (${merchant.id}, ${planted}, now(), '{}', 5)`)
    const message = 'was never recorded: it was put in by hand'
    expect(await merchant.violations()).toEqual([
      { merchantId: merchant.id, invariant: 17, table: 'acquirer_exceptions', id: planted, message },
    ])
    expect(await failureOf(payOut())).toHaveProperty('code', 'TL001')
  })

  it.each([
    ['its resolution', resolve],
    ['its adjustment', adjust],
  ])('frees its amount by %s, and stays recorded', async (_title, act) => {
    await act()
    expect(await merchant.violations()).toEqual([])
    const before = await merchant.balance()
    expect(await payOut()).toEqual([{ verdict: 'done', amount: BigInt(before) }])
    await set(sql`resolved = NULL`)
    expect(await merchant.violations()).toHaveLength(1)
  })
})

it('the id of an exception follows from its reference, so the service cannot take the place of another', async () => {
  const login = sql`SELECT ${sql.table('add_exception')}(${merchant.id}, ${'f'.repeat(24)}, '{}', NULL, NULL)`
  await login.execute(payments.service.db)
  const { db } = payments.database
  const rows = await db.selectFrom('acquirer_exceptions').select('id').where('merchant_id', '=', merchant.id).execute()
  expect(rows).toHaveLength(2)
  expect(rows).not.toContainEqual({ id: 'f'.repeat(24) })
  expect(rows).toContainEqual({ id: anyId })
})
