import { anyId } from '@trestle/testing/any-text.ts'
import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { merchantsCommand } from '../src/commands/merchants.ts'
import { payoutsCommand } from '../src/commands/payouts.ts'
import { type Violation, verifyLedger } from '../src/use-cases/verify-ledger.ts'
import { createLiveMerchant, type LiveMerchant } from './live-merchant.ts'
import { createTestApp, operatorDeps, startPayments, type TestApp, type TestPayments } from './payments-app.ts'
import { commandRunner } from './run-command.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

const north = createStubAcquirer()
const [OWN, FORGED] = ['DK5000400440116243', 'GB82WEST12345698765432']
let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

const { run, json, readJson } = commandRunner([merchantsCommand, payoutsCommand], () => operatorDeps(payments))

/** Runs a statement as the database owner. */
const byHand = (statement: RawBuilder<unknown>) => statement.execute(payments.owner.db)
/** Runs a statement as the service's login. */
const asService = <Row>(statement: RawBuilder<Row>) => statement.execute(payments.service.db)

/** Calls the API, and returns the status and body. */
async function call(method: 'PUT' | 'POST', url: string, payload: object) {
  const response = await payments.app.inject({ method, url, payload, headers: app.headers })
  return { status: response.statusCode, body: response.body === '' ? undefined : response.json() }
}

/** Creates a merchant with a balance. */
async function createWithBalance(amount = 5_000): Promise<LiveMerchant> {
  const merchant = await createLiveMerchant(payments, app, { north })
  await byHand(sql`SELECT * FROM ${sql.table('adjust')}(${merchant.id}, ${amount}, 'Goodwill')`)
  return merchant
}

const payOut = (merchantId: string) =>
  asService(sql`SELECT (payout).id, verdict FROM ${sql.table('pay_out')}(NULL, ${merchantId}, 1, 0)`)

/** Returns the code and message of a failed statement or command, or `undefined` if it succeeds. */
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    ({ code, message }) => ({ code, message }),
  )

const refusal = (table: string, id: string, what: string) => ({
  code: 'TL001',
  message: `${id} of ${table}: ${what} was changed by hand; look with: payments ledger verify`,
})

const setMerchant = (id: string, assignment: RawBuilder<unknown>) =>
  byHand(sql`UPDATE ${sql.table('merchants')} SET ${assignment} WHERE id = ${id}`)

async function violations(merchantId: string): Promise<Violation[]> {
  const found: Violation[] = []
  for await (const verified of verifyLedger(payments.owner.db, { merchantId, heads: new Map() })) {
    found.push(...verified.violations)
  }
  return found
}

describe('a row that was changed by hand', () => {
  it('a merchant is paid nothing while its bank account was set by hand', async () => {
    const { id } = await createWithBalance()
    await setMerchant(id, sql`iban = ${FORGED}`)
    expect(await failureOf(payOut(id))).toEqual(refusal('merchants', id, 'who gets or pays it'))
    expect(await json('payouts', 'run', '--merchant', id)).toEqual([
      { merchantId: id, failure: refusal('merchants', id, 'who gets or pays it').message },
    ])
    await setMerchant(id, sql`iban = ${OWN}`)
    expect((await payOut(id)).rows).toEqual([{ verdict: 'done', id: anyId }])
    expect(await violations(id)).toEqual([])
  })

  it('a merchant cannot be changed by itself or by an operator until its row is restored', async () => {
    const { id } = await createWithBalance()
    const { rows } = await sql<{ pricing: object }>`
      SELECT pricing FROM ${sql.table('merchants')} WHERE id = ${id}`.execute(payments.owner.db)
    await setMerchant(id, sql`iban = ${FORGED}, pricing = pricing || '{"rate":9000}'`)
    const before = await violations(id)
    expect(before).toHaveLength(2)
    expect(await call('PUT', `/merchants/${id}`, { name: 'x' })).toEqual({
      status: 500,
      body: { code: 'RECORD_CHANGED', message: 'Data of this merchant must be looked at by the operator' },
    })
    expect(await failureOf(run('merchants', 'pricing', id, '--rate', '200'))).toEqual(
      refusal('merchants', id, 'what moves money and who gets or pays it'),
    )
    expect(await violations(id)).toEqual(before)
    await setMerchant(id, sql`iban = ${OWN}, pricing = ${JSON.stringify(rows[0]?.pricing)}::jsonb`)
    expect((await call('PUT', `/merchants/${id}`, { name: 'x' })).status).toBe(204)
    await run('merchants', 'pricing', id, '--rate', '200')
    expect(await violations(id)).toEqual([])
  })

  it('a payout is exported once, and closed only as it was made', async () => {
    const { id } = await createWithBalance()
    await payOut(id)
    const [payout] = await readJson(
      z.array(z.looseObject({ id: z.string() })),
      'payouts',
      'list',
      '--status',
      'created',
    )
    const payoutId = payout?.id ?? ''
    const set = (assignment: RawBuilder<unknown>) =>
      byHand(sql`UPDATE ${sql.table('payouts')} SET ${assignment} WHERE id = ${payoutId}`)
    await byHand(sql`SELECT ${sql.table('export_waiting_payouts')}(10)`)
    await set(sql`status = 'created'`)
    const changed = refusal('payouts', payoutId, 'what moves money')
    expect(await failureOf(byHand(sql`SELECT ${sql.table('export_waiting_payouts')}(10)`))).toEqual(changed)
    await set(sql`status = 'exported', amount = amount + 1`)
    for (const outcome of ['settle', 'fail']) {
      expect(await failureOf(run('payouts', outcome, payoutId))).toEqual(changed)
    }
    await set(sql`amount = amount - 1`)
    expect(await json('payouts', 'fail', payoutId)).toEqual({ id: payoutId, status: 'failed' })
    expect(await violations(id)).toEqual([])
  })

  it('a dispute is not closed, and frees no money for a payout', async () => {
    const merchant = await createWithBalance()
    const transactionId = await merchant.charge(10_000)
    await merchant.answer(await merchant.book('capture', transactionId, 10_000), { verdict: 'accepted' })
    const { rows } = await asService(sql<{ id: string }>`
      SELECT (dispute).id FROM ${sql.table('open_dispute')}(NULL, ${merchant.id}, ${transactionId}, '{"reasonCode":1,"reasonTitle":"x"}')`)
    const [{ id = '' } = {}] = rows
    const set = (assignment: RawBuilder<unknown>) =>
      byHand(sql`UPDATE ${sql.table('disputes')} SET ${assignment} WHERE id = ${id}`)
    const changed = refusal('disputes', id, 'what moves money')
    await set(sql`status = 'won', resolved = '2026-01-01'`)
    expect(await failureOf(payOut(merchant.id))).toEqual(refusal('disputes', id, 'what moves money and its terms'))
    await set(sql`status = 'open', resolved = NULL, amount = 1`)
    const close = () =>
      asService(sql`SELECT verdict FROM ${sql.table('close_dispute')}(NULL, ${merchant.id}, ${id}, 'lost')`)
    expect(await failureOf(close())).toEqual(changed)
    await set(sql`amount = 10000`)
    await setMerchant(merchant.id, sql`pricing = pricing || '{"dispute":{"currency":"EUR","amount":0}}'`)
    expect(await failureOf(close())).toEqual(refusal('merchants', merchant.id, 'what moves money'))
    await setMerchant(merchant.id, sql`pricing = pricing || '{"dispute":{"currency":"EUR","amount":2500}}'`)
    expect((await close()).rows).toEqual([{ verdict: 'done' }])
    expect(await merchant.violations()).toEqual([])
  })

  it('a deleted dispute frees no money for a payout', async () => {
    const merchant = await createWithBalance()
    const transactionId = await merchant.charge(10_000)
    const { rows } = await asService(sql<{ id: string }>`
      SELECT (dispute).id FROM ${sql.table('open_dispute')}(NULL, ${merchant.id}, ${transactionId}, '{"amount":100,"reasonCode":1,"reasonTitle":"x"}')`)
    const [{ id = '' } = {}] = rows
    await byHand(sql`DELETE FROM ${sql.table('disputes')} WHERE id = ${id}`)
    expect(await failureOf(payOut(merchant.id))).toEqual({
      code: 'TL001',
      message: `${id} of disputes: the row was deleted by hand; look with: payments ledger verify`,
    })
  })

  it('an operation of an acquirer accepts no answer until its row is restored', async () => {
    const merchant = await createWithBalance()
    const transactionId = await merchant.charge(10_000)
    const operationId = await merchant.book('capture', transactionId, 10_000)
    const set = (assignment: RawBuilder<unknown>) =>
      byHand(sql`UPDATE ${sql.table('acquirer_operations')} SET ${assignment} WHERE id = ${operationId}`)
    await set(sql`status = 'unanswered', answered = '2026-01-01'`)
    const changed = refusal(
      'acquirer_operations',
      operationId,
      'what moves money and who gets or pays it and its terms',
    )
    expect(await failureOf(merchant.answer(operationId, { verdict: 'accepted' }))).toEqual(changed)
    await set(sql`status = 'open', answered = NULL`)
    await merchant.answer(operationId, { verdict: 'accepted' })
    expect(await merchant.violations()).toEqual([])
  })

  it.each(['capture', 'void'] as const)('a deleted %s is found whatever reference its client chose', async (kind) => {
    const merchant = await createWithBalance()
    const transactionId = await merchant.charge(10_000)
    const rejected = await merchant.book(kind, transactionId, 1_000)
    await merchant.answer(rejected, { verdict: 'rejected', reason: 'closed' })
    const { status, body } = await call('POST', `/transactions/${transactionId}/${kind}s`, {
      amount: 2_000,
      reference: `accepted ${rejected}`,
    })
    expect(status).toBe(201)
    const { id } = body.transaction.trail.at(-1)
    await byHand(sql`DELETE FROM ${sql.table('acquirer_operations')} WHERE id = ${id}`)
    const message = 'is gone: its trail entry was handed to an acquirer'
    const violation = { merchantId: merchant.id, invariant: 17, table: 'acquirer_operations', id, message }
    expect(await violations(merchant.id)).toEqual([violation])
  })
})
