import { anyTime } from '@trestle/testing/any-text.ts'
import { type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { countStatements } from '../../test/counted-statements.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { deliveriesCommand } from './deliveries.ts'

let sink: StubProvider
let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  sink = await startStubProvider(({ url }) => (url === '/listed' ? { status: 503 } : {}))
  payments = await startPayments({ work: true, webhookHosts: ['127.0.0.1'] })
  member = await createTestApp(payments)
})
afterAll(async () => {
  await payments.close()
  await sink.close()
})

const send = async (method: 'POST' | 'PUT' | 'GET', url: string, payload: object = {}) => {
  const body = method === 'GET' ? {} : { payload }
  const response = await payments.app.inject({ method, url, headers: member.headers, ...body })
  expect(response.statusCode).toBeLessThan(300)
  return response.body === '' ? {} : response.json()
}

/** Creates a test merchant with a webhook that sends events to a path of the sink. */
async function listen(path: string) {
  const { id } = await createTestMerchant(payments, member, { test: true })
  const { webhook } = await send('POST', `/merchants/${id}/webhooks`, { url: sink.url + path })
  return { id, webhook, update: (name: string) => send('PUT', `/merchants/${id}`, { name }) }
}
const at = (path: string) => sink.requests.filter(({ url }) => url === path)
const namesAt = (path: string) =>
  at(path)
    .map(({ body }) => JSON.parse(body).data.merchant?.name)
    .sort()

const { run, json, readJson } = commandRunner([deliveriesCommand], () => operatorDeps(payments))

it('payments deliveries list: sends one statement, whatever the number of merchants on the page', async () => {
  const shops = [await listen('/counted'), await listen('/counted')]
  for (const { update } of shops) await update('Tea')
  await expect.poll(() => at('/counted')).toHaveLength(2)
  const { deps, count } = countStatements(operatorDeps(payments))
  const counted = commandRunner([deliveriesCommand], () => deps)
  const listed = await counted.readJson(z.array(z.looseObject({ merchantId: z.string() })), 'deliveries', 'list')
  const shopIds = shops.map(({ id }) => id)
  expect(shopIds.filter((id) => listed.some(({ merchantId }) => merchantId === id))).toEqual(shopIds)
  expect(count()).toBe(1)
})

// The tests mostly wait for the queue, so they run concurrently.
describe.concurrent('payments deliveries', () => {
  it('replay: sends the events after a given event again, also to a disabled webhook', async ({ expect }) => {
    const { id, webhook, update } = await listen('/replayed')
    await update('One')
    await expect.poll(() => at('/replayed')).toHaveLength(1)
    const first = JSON.parse(at('/replayed')[0]?.body ?? '').id
    await sql`SELECT ${sql.table('disable_webhook')}(${id}, ${webhook.id})`.execute(payments.database.db)
    for (const name of ['Two', 'Three']) await update(name)
    expect(await run('deliveries', 'replay', id, webhook.id, '--after', first, '--json')).toEqual([
      `{"webhook":"${webhook.id}","events":3}`,
    ])
    const audit = payments.database.db.selectFrom('audit').select('payload').where('merchant_id', '=', id)
    expect(await audit.where('action', '=', 'webhook.replayed').execute()).toEqual([
      { payload: { webhookId: webhook.id, after: first } },
    ])
    await expect.poll(() => at('/replayed')).toHaveLength(4)
    expect(namesAt('/replayed')).toEqual(['One', 'Three', 'Two', undefined])
    await update('Four')
    await expect.poll(() => at('/replayed')).toHaveLength(5)
  })

  it('list, show: prints deliveries with their attempts, and one with its event', async ({ expect }) => {
    const { id, webhook, update } = await listen('/listed')
    await update('Coffee')
    const listed = () =>
      readJson(z.array(z.looseObject({ id: z.string(), status: z.string() })), 'deliveries', 'list', '--merchant', id)
    await expect.poll(async () => (await listed())[0]?.status).toBe('retrying')
    const [event] = await send('GET', `/merchants/${id}/events?limit=1`)
    const delivery = {
      id: expect.any(String),
      status: 'retrying',
      type: 'merchant.updated',
      eventId: event.id,
      webhookId: webhook.id,
      merchantId: id,
      url: `${sink.url}/listed`,
      attempts: 1,
      lastAttempt: anyTime,
      nextAttempt: anyTime,
      failure: 'answered 503',
    }
    const [first, ...rest] = await listed()
    expect([first, rest]).toEqual([delivery, []])
    expect(await json('deliveries', 'show', first?.id ?? '')).toEqual({ ...delivery, event })
    const lines = (await run('deliveries', 'show', first?.id ?? '')).map((line) => line.split(/ {2,}/))
    const { data, ...envelope } = event
    expect(lines.slice(Object.keys(delivery).length)).toEqual([
      [''],
      ['event:'],
      ['ID', 'TYPE', 'VERSION', 'CREATED', 'MERCHANT ID'],
      Object.values(envelope).map(String),
      [''],
      ['data:'],
      ['OBJECT', 'MEMBER', 'VALUE'],
      ...Object.keys(data.merchant).map((member) => ['merchant', member, expect.any(String)]),
    ])
    expect(await json('deliveries', 'list', '--webhook', webhook.id, '--status', 'failed')).toEqual([])
    const table = await run('deliveries', 'list', '--webhook', webhook.id)
    expect(Math.max(...table.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(table.map((line) => line.split(/ {2,}/))).toEqual([
      ['ID', 'STATUS', 'FAILURE', 'TYPE'],
      [first?.id, 'retrying', 'answered 503', 'merchant.updated'],
    ])
    await sql`UPDATE ${sql.id('payments_jobs', 'job')} SET start_after = now(), retry_count = 11
        WHERE state = 'retry' AND data ->> 'webhookId' = ${webhook.id}`.execute(payments.database.db)
    await expect
      .poll(async () => (await listed())[0])
      .toEqual({ ...delivery, status: 'failed', attempts: 13, nextAttempt: null })
  })

  it.for([
    [
      ['show', UNKNOWN_ID],
      `there is no delivery ${UNKNOWN_ID}; the queue forgets one an hour after it was delivered or cancelled`,
    ],
    [['list', '--merchant', 'x'], '--merchant must be 24 hexadecimal digits'],
    [['list', '--webhook', 'x'], '--webhook must be 24 hexadecimal digits'],
    [
      ['list', '--limit', '0'],
      "error: option '--limit <rows>' argument '0' is invalid. It must be a whole number from 1 to 1000.",
    ],
    [
      ['list', '--status', 'x'],
      "error: option '--status <status>' argument 'x' is invalid. Allowed choices are waiting, sending, retrying, delivered, cancelled, failed.",
    ],
    [['replay', 'x', UNKNOWN_ID], 'the merchant must be 24 hexadecimal digits'],
    [['replay', UNKNOWN_ID, 'x'], 'the webhook must be 24 hexadecimal digits'],
    [['replay', UNKNOWN_ID, UNKNOWN_ID], `merchant ${UNKNOWN_ID} has no webhook ${UNKNOWN_ID}`],
    [['replay', UNKNOWN_ID, UNKNOWN_ID, '--after', 'x'], '--after must be 24 hexadecimal digits'],
  ] as const)('refuses %j', async ([words, message], { expect }) => {
    await expect(run('deliveries', ...words)).rejects.toHaveProperty('message', message)
  })
})
