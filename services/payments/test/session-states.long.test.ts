import { readFileSync } from 'node:fs'
import { hasCome, type WatchedRow, watchRows } from '@trestle/testing/watched-rows.ts'
import { expect, it } from 'vitest'
import { diagramsOf } from '../../../scripts/layout/state-diagrams.ts'
import { browse, createOrder, hintsOf } from './customer.ts'
import { createTestApp, createTestMerchant, startPayments } from './payments-app.ts'

/** A card about which the simulator waits. */
const SLOW = '1000000000050000'
const TABLE = 'payments.payment_sessions'
const [drawn] = diagramsOf(readFileSync(new URL('../src/checkout/README.md', import.meta.url), 'utf8'))

/** The state of the session of an order (README of the checkout: the table of columns). */
function sessionState(watchedRow: WatchedRow): string {
  const { row } = watchedRow
  if (hasCome(row.expires, watchedRow)) return 'none'
  if (row.transaction_id !== null) return 'ended'
  if (row.attempt_id !== null) return 'paying'
  if (row.step === 'card-lookup') return 'looked_up'
  if (row.step === 'tds-challenge') return row.outcome === null ? 'challenge' : 'answered'
  return row.taken_step === row.step ? 'given_out' : 'fingerprint'
}

it('the session of an order goes through the arrows of its diagram, and through no others', async () => {
  // The simulator waits for the slow card alone. Half an hour passes meanwhile.
  const payments = await startPayments({ wait: () => events['half an hour passes']() })
  const watched = await watchRows(payments.url, { [TABLE]: sessionState })
  const browser = browse(payments)
  const { key } = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR', test: true })
  const begin = async (card: object) => ({ order: await createOrder(browser, { key, ...card }), hints: [] as string[] })
  type Client = Awaited<ReturnType<typeof begin>>
  const send = (path: string, { order, hints }: Client, changes = {}) =>
    browser.send(path, { ...order, ...changes, hints })
  const take = async (step: string, client: Client, fields = {}) => {
    const { status, body } = await send(`/payments/challenges/${step}`, client)
    // An order that has ended has no task, only a hint that leads to the same end.
    if (status !== 200 || body.url === undefined) return []
    return hintsOf(await browser.submit(body.url, { ...body.fields, ...fields }))
  }
  const approve = (client: Client) => take('tds-challenge', client, { decision: 'approve' })
  const events = {
    'card lookup': async (client: Client) => {
      const { body } = await send('/payments/challenges/card-lookup', client)
      client.hints.push(...(body.hints ?? []))
    },
    order: (client: Client) => send('/payments', client),
    'order of a refused card': (client: Client) =>
      send('/payments', client, { test: { card: { scheme: 'unsupported' } } }),
    'device is looked at': async (client: Client) => client.hints.push(...(await take('device-fingerprint', client))),
    'fingerprint is taken': async (client: Client) => client.hints.push(...(await take('tds-fingerprint', client))),
    'customer is asked': (client: Client) => send('/payments/challenges/tds-challenge', client),
    'bank answers': async (client: Client) => client.hints.push(...(await approve(client))),
    'bank answers another client': approve,
    'ten minutes pass': () => watched.change(TABLE, `SET challenged = challenged - interval '10 minutes'`),
    'half an hour passes': () => watched.change(TABLE, "SET expires = now() - interval '1 second'"),
  }
  const steps = ['card lookup', 'order', 'device is looked at', 'order', 'fingerprint is taken', 'order']
  const challenged = [...steps, 'customer is asked']
  const paid = [...steps, 'bank answers', 'order']
  const ways = [
    ...[0, 1, 2, 3, steps.length].map((length) => steps.slice(0, length)),
    ...[[], ['bank answers'], ['ten minutes pass']].map((more) => [...challenged, ...more]),
    [...challenged, 'bank answers another client', 'ten minutes pass'],
    paid,
  ]
  await watched.explore(events, ways, () => begin({}))
  await watched.explore({}, [[...steps.slice(0, -1), 'order']], () => begin({ test: { tds: { challenge: false } } }))
  const found = await watched.explore(events, [paid], () => begin({ number: SLOW }))
  expect(found.get(TABLE)).toEqual([...(drawn?.arrows.keys() ?? [])].sort())
  await watched.close()
  await payments.close()
})
