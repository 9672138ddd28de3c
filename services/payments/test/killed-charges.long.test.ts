import { once } from 'node:events'
import { setTimeout as pause, setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildApp } from '../src/app.ts'
import { processingError } from '../src/transactions/processing-error.ts'
import { watchLostAttempts } from '../src/use-cases/end-lost-attempts.ts'
import { statusAndBody } from './bodies.ts'
import { refusedCard } from './checkout-refusals.ts'
import { browse, createOrder, walk } from './customer.ts'
import { customerPayment } from './customer-payment.ts'
import {
  createTestApp,
  createTestMerchant,
  placement,
  startPayments,
  type TestApp,
  type TestPayments,
} from './payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from './stub-acquirer.ts'

/** The time limit of the outcome in the reference (reference: Attempts). */
const DECIDED_MS = 30_000

let north: StubAcquirer
let payments: TestPayments
let app: TestApp
let merchant: { id: string; key?: unknown }
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({ work: true, acquirers: new Map([['north', north]]) })
  app = await createTestApp(payments)
  merchant = await createTestMerchant(payments, app, { currency: 'EUR' })
  await payments.database.db.updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', merchant.id).execute()
})
afterAll(() => payments.close())

/** Simulates a process that is killed between the acquirer's answer and its record. It writes nothing to the database. */
async function startKilledProcess() {
  const { write } = payments.deps.pools
  const cut = new EventTarget()
  const one: typeof write.one = (query, input) => {
    if (query.name !== 'finish_charge' && query.name !== 'finish_payment') return write.one(query, input)
    cut.dispatchEvent(new Event('cut'))
    return new Promise(() => {})
  }
  const killed = await buildApp({ ...payments.deps, pools: { ...payments.deps.pools, write: { ...write, one } } })
  await killed.ready()
  return { app: killed, cut }
}

const stateOf = async (id: string) => {
  const row = payments.database.db.selectFrom('attempts').select('state').where('id', '=', id)
  return (await row.executeTakeFirst())?.state
}

it('decides a charge and an order that a kill cut off within 30 s, answers their keys, and gives the approvals back', async () => {
  const source = await customerPayment(payments, merchant.id, { number: '4242424242424242' })
  const { app: killed, cut } = await startKilledProcess()
  const charge = {
    method: 'POST',
    url: `/merchants/${merchant.id}/transactions`,
    headers: { ...app.headers, 'idempotency-key': 'killed' },
    payload: { transactionId: source, currency: 'EUR', amount: 500 },
  } as const
  const browser = browse(payments)
  const order = await createOrder(browser, { key: merchant.key, number: '4242424242424242', test: undefined })
  const { hints } = await walk(browser, order, { until: 'card-lookup' })
  const pay = (at: typeof browser) => at.send('/payments', { ...order, hints }, { 'idempotency-key': 'killed' })
  const chargeCut = once(cut, 'cut')
  void killed.inject(charge)
  await chargeCut
  const orderCut = once(cut, 'cut')
  void pay(browse({ app: killed }))
  await orderCut
  const ids = north.received.authorizations.map(({ idempotencyRef }) => idempotencyRef)
  north.answers.inquire = async (id) => ({ verdict: 'approved', ref: `n-${id}`, networkRef: null })

  const restartedMs = performance.now()
  const stop = watchLostAttempts({ ...payments.deps, db: payments.service.db, placement })
  const untilAnswered = async <Answer>(ask: () => Promise<Answer>, isRunning: (answer: Answer) => boolean) => {
    let answer = await ask()
    for (; isRunning(answer) && performance.now() - restartedMs < DECIDED_MS; await pause(250)) answer = await ask()
    return answer
  }
  const [charged, paid] = await Promise.all([
    untilAnswered(
      () => payments.app.inject(charge),
      ({ statusCode }) => statusCode === 409,
    ),
    untilAnswered(
      () => pay(browser),
      ({ status }) => status === 409,
    ),
  ])
  expect(statusAndBody(charged)).toEqual([400, processingError(12)])
  expect([paid.status, paid.body]).toEqual(refusedCard('PAYMENT_METHOD_ERROR'))
  while (north.received.givenBack.length < ids.length && performance.now() - restartedMs < DECIDED_MS) await pause(250)
  expect(north.received.givenBack.toSorted()).toEqual(ids.toSorted())
  while ((await Promise.all(ids.map(stateOf))).includes('unknown')) await setImmediate()
  expect(await Promise.all(ids.map(stateOf))).toEqual(['reversed', 'reversed'])
  expect(performance.now() - restartedMs).toBeLessThan(DECIDED_MS)
  expect((await payments.app.inject(charge)).headers['idempotent-replayed']).toBe('true')
  await stop()
}, 60_000)
