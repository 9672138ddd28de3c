import { watchRows } from '@trestle/testing/watched-rows.ts'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { callerColumns } from '../src/access/caller.ts'
import { keyDigest } from '../src/access/fingerprint.ts'
import { recordWaiting } from '../src/acquirers/event-repository.ts'
import { callAddException } from '../src/acquirers/exception-repository.ts'
import { deliveriesCommand } from '../src/commands/deliveries.ts'
import { adjustCommand } from '../src/commands/merchants.ts'
import { exceptionsCommand } from '../src/commands/transactions.ts'
import { callBeginCharge } from '../src/transactions/charge-repository.ts'
import { cleanUp } from '../src/use-cases/clean-up.ts'
import { callDisableWebhook } from '../src/webhooks/webhook-repository.ts'
import { callerOf } from './caller.ts'
import { browse, createOrder } from './customer.ts'
import { customerPayment } from './customer-payment.ts'
import { drawnFor } from './drawn-arrows.ts'
import { settle } from './live-merchant.ts'
import { capture } from './operations.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  placement,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from './payments-app.ts'
import { commandRunner } from './run-command.ts'

const [EXCEPTIONS, WEBHOOKS, KEYS] = [
  'payments.acquirer_exceptions',
  'payments.webhooks',
  'payments.idempotency',
] as const

let payments: TestPayments
let app: TestApp
let merchantId: string
let merchantKey: unknown
// Each test has a database of its own, because the changes of all watched tables are noted in one place.
beforeEach(async () => {
  // A request that meets a running key asks again at once, and gives up after the same number of times.
  payments = await startPayments({ wait: async () => {} })
  app = await createTestApp(payments)
  const merchant = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
  merchantId = merchant.id
  merchantKey = merchant.key
})
afterEach(() => payments.close())

const send = (method: 'POST' | 'PUT' | 'DELETE', url: string, payload = {}, headers = {}) =>
  payments.app.inject({ method, url, payload, headers: { ...app.headers, ...headers } })

it('an exception goes through the arrows of its diagram, and through no others', async () => {
  const { db } = payments.database
  const { run } = commandRunner([adjustCommand, exceptionsCommand], () => operatorDeps(payments))
  const watched = await watchRows(payments.url, {
    [EXCEPTIONS]: ({ row }) => (row.resolved === null ? 'open' : 'resolved'),
  })
  const payload = { type: 'unknown', acquirer: 'north' }
  const report = (live: string, disputed?: { readonly amount: number }) =>
    callAddException(db, { merchantId: live, reference: 'event north:1', payload, disputed })
  const record = (live: string, held: readonly (readonly [string, string])[]) =>
    recordWaiting(
      { db, logger: pino({ enabled: false }) },
      {
        acquirer: 'north',
        merchants: new Set([live]),
        held: new Map(held),
      },
    )
  // The commands refuse an exception that does not wait.
  const close = async (...words: readonly string[]) => {
    const row = await db.selectFrom('acquirer_exceptions').select('id').executeTakeFirst()
    await run(...words, row?.id ?? UNKNOWN_ID).catch(() => [])
  }
  const events = {
    'an event contradicts the books': (live: string) => report(live),
    'a dispute is held back': (live: string) => report(live, { amount: 1 }),
    'events wait': (live: string) => record(live, [[live, 'E1']]),
    'no event waits': (live: string) => record(live, []),
    adjust: (live: string) => close('adjust', live, '-1', 'Lost', '--exception'),
    list: () => run('exceptions', 'list'),
    resolve: (live: string) => close('exceptions', 'resolve', live),
  }
  const begun = 'an event contradicts the books'
  const paths = [[], [begun], [begun, 'resolve'], ['events wait'], ['events wait', 'resolve']] as const
  const found = await watched.explore(events, paths, async () => {
    const { id } = await createTestMerchant(payments, app, { currency: 'EUR' })
    await settle(db, id, { acquirer: 'north' })
    return id
  })
  expect(found.get(EXCEPTIONS)).toEqual(drawnFor('acquirers')[0])
  await watched.close()
})

it('a webhook goes through the arrows of its diagram, and through no others', async () => {
  const { run } = commandRunner([deliveriesCommand], () => operatorDeps(payments))
  const watched = await watchRows(payments.url, {
    [WEBHOOKS]: ({ row }) => (row.disabled === null ? 'enabled' : 'disabled'),
  })
  const url = `/merchants/${merchantId}/webhooks`
  interface Owner {
    webhookId: string
  }
  const events = {
    create: async (owner: Owner) => {
      const response = await send('POST', url, { url: 'https://shop.example/hook', events: ['merchant.updated'] })
      owner.webhookId = response.json().webhook.id
    },
    'an event of a wanted type': () => send('PUT', `/merchants/${merchantId}`, { name: `Shop ${Math.random()}` }),
    'an event of another type': async () => capture(payments, app, await customerPayment(payments, merchantId), 1),
    'a delivery fails for the last time': ({ webhookId }: Owner) =>
      callDisableWebhook(payments.deps.pools, { merchantId, webhookId, eventId: UNKNOWN_ID }),
    'a new secret': ({ webhookId }: Owner) => send('POST', `${url}/${webhookId}/secrets`),
    // The command refuses a webhook that does not exist.
    replay: ({ webhookId }: Owner) => run('deliveries', 'replay', merchantId, webhookId).catch(() => []),
    delete: ({ webhookId }: Owner) => send('DELETE', `${url}/${webhookId}`),
  }
  const failed = ['create', 'a delivery fails for the last time']
  const found = await watched.explore(
    events,
    [[], ['create'], failed],
    async (): Promise<Owner> => ({ webhookId: UNKNOWN_ID }),
  )
  expect(found.get(WEBHOOKS)).toEqual(drawnFor('webhooks')[0])
  await watched.close()
})

it('an Idempotency-Key goes through the arrows of its diagram, and through no others', async () => {
  const { pools, acquirers, config, pepper } = payments.deps
  const watched = await watchRows(payments.url, { [KEYS]: ({ row }) => (row.status === null ? 'running' : 'finished') })
  interface Owner {
    readonly transactionId: string
  }
  const key = { 'idempotency-key': 'k' }
  const browser = browse(payments)
  const charge = ({ transactionId }: Owner, amount = 100) =>
    send('POST', `/merchants/${merchantId}/transactions`, { transactionId, currency: 'EUR', amount }, key)
  const events = {
    'a charge': (owner: Owner) => charge(owner),
    'a charge with another body': (owner: Owner) => charge(owner, 101),
    'a capture': ({ transactionId }: Owner) =>
      send('POST', `/transactions/${transactionId}/captures`, { amount: 1 }, key),
    'a refusal that is not remembered': ({ transactionId }: Owner) =>
      send('POST', `/test/transactions/${transactionId}/disputes`, { amount: 999 }, key),
    // The acquirer is asked between the two calls of the database.
    'the process of a charge dies': ({ transactionId }: Owner) =>
      callBeginCharge(pools, {
        ...callerColumns(
          callerOf(app, {
            method: 'POST',
            path: `/merchants/${merchantId}/transactions`,
            key: keyDigest(pepper, 'k'),
            fingerprint: Buffer.alloc(32),
          }),
        ),
        merchantId,
        charge: { transactionId, currency: 'EUR', amount: 100 },
        acquirers: acquirers.names,
        rateAgeDaysMax: config.dayLimits.rateAgeDaysMax,
      }),
    'an order that is refused': async ({ transactionId }: Owner) => {
      const order = await createOrder(browser, { key: merchantKey, test: { card: { scheme: 'unknown' } } })
      return browser.send('/payments', order, { 'idempotency-key': transactionId })
    },
    '24 hours have passed': async () => {
      await watched.change(KEYS, "SET created = created - interval '24 hours'")
      await cleanUp({ db: payments.database.db, placement, config: { unusedAppDays: 0 } })
    },
  }
  const ways = [[], ['a charge'], ['a capture'], ['the process of a charge dies'], ['an order that is refused']]
  const found = await watched.explore(
    events,
    ways,
    async (): Promise<Owner> => ({ transactionId: await customerPayment(payments, merchantId) }),
  )
  expect(found.get(KEYS)).toEqual(drawnFor('transactions')[3])
  await watched.close()
})
