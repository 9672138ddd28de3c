import { createHmac } from 'node:crypto'
import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import {
  type StubAnswer,
  type StubProvider,
  type StubRequest,
  startStubProvider,
} from '@trestle/testing/stub-provider.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { settle } from '../../test/live-merchant.ts'
import {
  createTestApp,
  createTestMerchant,
  merchantBody,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { deliveriesCommand } from '../commands/deliveries.ts'
import { deliveryTask } from '../webhooks/delivery.ts'

let sink: StubProvider
/** The answers of the sink by path. `undefined`: no answer. By default the sink accepts the event. */
const answers = new Map<string, StubAnswer | undefined>()
/** The host names of webhooks that were looked up. The name servers of these names do not answer. */
const namesAsked: string[] = []
const findAddresses = ({ host }: { readonly host: string }) => {
  namesAsked.push(host)
  return Promise.reject(Object.assign(new Error(host), { code: 'ETIMEOUT' }))
}
let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  sink = await startStubProvider(({ url }) => (answers.has(url) ? answers.get(url) : {}))
  payments = await startPayments({ work: true, webhookHosts: ['127.0.0.1'], findAddresses })
  member = await createTestApp(payments)
})
afterAll(async () => {
  await payments.close()
  await sink.close()
})

const testMerchant = { ...merchantBody, test: true }
const JOB = sql.id('payments_jobs', 'job')
const send = async (method: 'POST' | 'PUT' | 'DELETE' | 'GET', url: string, payload: object = {}) => {
  const body = method === 'GET' ? {} : { payload }
  const response = await payments.app.inject({ method, url, headers: member.headers, ...body })
  expect(response.statusCode).toBeLessThan(300)
  return response.body === '' ? {} : response.json()
}

/** Creates a test merchant with a webhook that sends events to a path of the sink. */
async function listen(path: string, events: readonly string[] = [], base = sink.url) {
  const { id } = await createTestMerchant(payments, member, { test: true })
  const { webhook } = await send('POST', `/merchants/${id}/webhooks`, { url: base + path, events })
  return { id, webhook, update: (name: string) => send('PUT', `/merchants/${id}`, { name }) }
}
const at = (path: string) => sink.requests.filter(({ url }) => url === path)
const namesAt = (path: string) =>
  at(path)
    .map(({ body }) => JSON.parse(body).data.merchant?.name)
    .sort()

function isSigned({ headers, body }: StubRequest, ...secrets: string[]): boolean {
  const [time, ...signatures] = String(headers['x-signature']).split(',')
  const digest = (secret: string) =>
    createHmac('sha256', secret)
      .update(`${time?.slice(2)}.${body}`)
      .digest('hex')
  return JSON.stringify(signatures) === JSON.stringify(secrets.map((secret) => `v1=${digest(secret)}`))
}

/** Reads the jobs of a webhook in the queue of deliveries or in the dead-letter queue. */
const jobsOf = async (webhookId: string, queue = 'webhook_delivery') =>
  (
    await sql<{ state: string; retry_count: number; delay: number }>`
      SELECT state::text AS state, retry_count, extract(epoch FROM start_after - now())::float8 AS delay
      FROM ${JOB} WHERE name = ${queue} AND data ->> 'webhookId' = ${webhookId}`.execute(payments.database.db)
  ).rows
const letTimePass = (webhookId: string, retries?: number) =>
  sql`UPDATE ${JOB} SET start_after = now(), retry_count = coalesce(${retries ?? null}, retry_count)
      WHERE state = 'retry' AND data ->> 'webhookId' = ${webhookId}`.execute(payments.database.db)

const { readJson } = commandRunner([deliveriesCommand], () => operatorDeps(payments))
const statusesOf = async (webhookId: string, ...options: readonly string[]) =>
  (
    await readJson(
      z.array(z.looseObject({ status: z.string() })),
      'deliveries',
      'list',
      '--webhook',
      webhookId,
      ...options,
    )
  ).map(({ status }) => status)

// The tests mostly wait for the queue, so they run concurrently.
describe.concurrent('deliveries', () => {
  it('sends an event as the list shows it, signed, once it is committed', async ({ expect }) => {
    const { id, webhook, update } = await listen('/plain')
    await update('Coffee')
    await expect.poll(() => at('/plain')).toHaveLength(1)
    const [request] = at('/plain')
    const [event] = await send('GET', `/merchants/${id}/events?limit=1`)
    expect(JSON.parse(request?.body ?? '')).toEqual(event)
    const { method, headers } = request ?? { headers: {} }
    expect([method, headers['content-type'], headers['user-agent']]).toEqual([
      'POST',
      'application/json; charset=utf-8',
      'Trestle-Payments',
    ])
    expect(request && isSigned(request, webhook.secret)).toBe(true)
    const time = Number(/^t=(\d+),/.exec(String(request?.headers['x-signature']))?.[1])
    expect(Math.abs(Date.now() / 1_000 - time)).toBeLessThan(60)
  })

  it('sends no event that was rolled back, and none to other merchants', async ({ expect }) => {
    const { id, update } = await listen('/rolled-back')
    await listen('/other')
    await payments.database.db
      .transaction()
      .execute(async (trx) => {
        await sql`SELECT ${sql.table('record_event')}(${id}, 'app.added', ${member.id}, NULL)`.execute(trx)
        throw new Error('roll back')
      })
      .catch(() => {})
    await update('After')
    await expect.poll(() => at('/rolled-back')).toHaveLength(1)
    expect(namesAt('/rolled-back')).toEqual(['After'])
    expect(at('/other')).toEqual([])
  })

  it('gives waiting events other turns once it knows how long a delivery takes', async ({ expect }) => {
    const { id, webhook, update } = await listen('/shares')
    const job = { merchantId: id, eventId: '1', webhookId: webhook.id }
    const waiting = { group: id, shareSeconds: 1, startAfterSeconds: 3_600 }
    const jobId = await payments.deps.jobs.send(payments.database.db, deliveryTask, job, waiting)
    await update('Coffee')
    const turn = async () =>
      (
        await sql<{ seconds: number }>`SELECT group_tier::int AS seconds FROM ${JOB} WHERE id = ${jobId}`.execute(
          payments.database.db,
        )
      ).rows[0]?.seconds
    await expect.poll(turn).toBeGreaterThan(1)
    expect(at('/shares')).toHaveLength(1)
  })

  it('sends only the types of the webhook', async ({ expect }) => {
    const { id, update } = await listen('/apps-only', ['app.added', 'app.revoked'])
    const other = await createTestApp(payments)
    await update('Unwanted')
    await send('POST', `/merchants/${id}/apps`, { appId: other.id })
    await send('DELETE', `/merchants/${id}/apps/${other.id}`)
    await expect.poll(() => at('/apps-only')).toHaveLength(2)
    expect(new Set(at('/apps-only').map(({ body }) => JSON.parse(body).type))).toEqual(
      new Set(['app.added', 'app.revoked']),
    )
  })

  it('sends nothing in clear for a merchant that is live by now', async ({ expect }) => {
    const { id, update } = await listen('/in-clear')
    await settle(payments.owner.db, id, { test: false })
    await update('Secret')
    const output = async () =>
      (
        await sql<{ message: string }>`
          SELECT output ->> 'message' AS message FROM ${JOB}
          WHERE name = 'webhook_delivery' AND data ->> 'merchantId' = ${id} AND output IS NOT NULL`.execute(
          payments.database.db,
        )
      ).rows
    await expect.poll(output, { timeout: 60_000 }).toEqual([{ message: 'not sent: http is not allowed' }])
    expect(at('/in-clear')).toEqual([])
  })

  it('signs with the previous secret too, while it is good', async ({ expect }) => {
    const { id, webhook, update } = await listen('/rotated')
    const rotated = await send('POST', `/merchants/${id}/webhooks/${webhook.id}/secrets`)
    await update('One')
    await expect.poll(() => at('/rotated')).toHaveLength(1)
    const [first] = at('/rotated')
    expect(first && isSigned(first, rotated.webhook.secret, webhook.secret)).toBe(true)
    await payments.database.db
      .updateTable('webhooks')
      .set({ previous_until: new Date('2026-01-01') })
      .where('id', '=', webhook.id)
      .execute()
    await update('Two')
    await expect.poll(() => at('/rotated')).toHaveLength(2)
    const second = at('/rotated')[1]
    expect(second && isSigned(second, rotated.webhook.secret)).toBe(true)
  })

  it.for<[string, StubAnswer]>([
    ['an error', { status: 500 }],
    ['a redirect', { status: 302, headers: { location: '/elsewhere' } }],
  ])('tries again one or two minutes after %s, with the same event', async ([name, refuse], { expect }) => {
    const path = `/retry-${name.length}`
    const { webhook, update } = await listen(path)
    answers.set(path, refuse)
    await update('Coffee')
    await expect.poll(() => at(path)).toHaveLength(1)
    const retrying = async () => (await jobsOf(webhook.id)).map(({ state, retry_count }) => ({ state, retry_count }))
    await expect.poll(retrying).toEqual([{ state: 'retry', retry_count: 0 }])
    const [job] = await jobsOf(webhook.id)
    expect(job?.delay).toBeGreaterThan(45)
    expect(job?.delay).toBeLessThanOrEqual(120)
    answers.set(path, { status: 204, body: '' })
    await letTimePass(webhook.id)
    await expect.poll(() => at(path)).toHaveLength(2)
    const [first, second] = at(path).map(({ body }) => body)
    expect(second).toBe(first)
    expect(at('/elsewhere')).toEqual([])
  })

  it('accepts the status of an answer that is too long to read', async ({ expect }) => {
    const { webhook, update } = await listen('/long')
    answers.set('/long', { body: 'x'.repeat(200_000) })
    await update('Coffee')
    await expect.poll(() => at('/long')).toHaveLength(1)
    await expect.poll(async () => (await jobsOf(webhook.id))[0]?.state).toBe('completed')
    expect(await statusesOf(webhook.id)).toEqual(['delivered'])
  })

  it('waits 5 s for an answer, and holds up no other webhook', async ({ expect }) => {
    const { webhook, update } = await listen('/silent')
    const other = await listen('/lively')
    answers.set('/silent', undefined)
    await update('Coffee')
    await other.update('Tea')
    await expect.poll(() => at('/lively')).toHaveLength(1)
    await expect.poll(async () => (await jobsOf(webhook.id))[0]?.state).toBe('retry')
  })

  it('sends nothing to a webhook that gave no answer three times in a row, and tries again later', async ({
    expect,
  }) => {
    const { webhook, update } = await listen('/mute')
    answers.set('/mute', undefined)
    for (const name of ['One', 'Two', 'Three']) await update(name)
    const retrying = async () => (await jobsOf(webhook.id)).filter(({ state }) => state === 'retry').length
    await expect.poll(retrying).toBe(3)
    answers.delete('/mute')
    await update('Four')
    await expect.poll(retrying).toBe(4)
    expect(namesAt('/mute')).toEqual(['One', 'Three', 'Two'])
  })

  it('sends nothing to a webhook whose name servers gave no answer three times in a row', async ({ expect }) => {
    const { webhook, update } = await listen('/', [], 'http://silent.example:8080')
    const retrying = async () => (await jobsOf(webhook.id)).filter(({ state }) => state === 'retry').length
    for (const count of [1, 2, 3, 4]) {
      await update(`Coffee ${count}`)
      await expect.poll(retrying).toBe(count)
    }
    expect(namesAsked).toEqual(['silent.example', 'silent.example', 'silent.example'])
  })

  it('disables a webhook after twelve retries, and tells the others', async ({ expect }) => {
    const { id, webhook, update } = await listen('/given-up')
    await send('POST', `/merchants/${id}/webhooks`, { url: `${sink.url}/informed`, events: ['webhook.disabled'] })
    answers.set('/given-up', { status: 400 })
    await update('Coffee')
    await expect.poll(async () => (await jobsOf(webhook.id))[0]?.state).toBe('retry')
    await letTimePass(webhook.id, 11)
    await expect.poll(() => at('/informed')).toHaveLength(1)
    const [listed] = (await send('GET', `/merchants/${id}/webhooks?limit=9`)).filter(
      (each: { id: string }) => each.id === webhook.id,
    )
    const { disabled } = listed
    expect(disabled).toEqual(expect.any(String))
    const delivered = JSON.parse(at('/informed')[0]?.body ?? '')
    const { secret: _, ...shown } = webhook
    expect(delivered).toEqual({
      type: 'webhook.disabled',
      data: { webhook: { ...shown, disabled } },
      id: anyId,
      version: 1,
      created: anyTime,
      merchantId: id,
    })
    await expect.poll(() => jobsOf(webhook.id, 'webhook_delivery_dead')).toHaveLength(1)
    await update('Unheard')
    await send('GET', `/merchants/${id}/events?limit=1`)
    await expect.poll(async () => payments.database.db.selectFrom('outbox').select('id').execute()).toEqual([])
    expect(namesAt('/given-up')).toEqual(['Coffee', 'Coffee'])
  })

  it('disables a webhook that answers 410 at once, and tells the others', async ({ expect }) => {
    answers.set('/gone', { status: 410 })
    const { id, webhook, update } = await listen('/gone', ['merchant.updated'])
    await send('POST', `/merchants/${id}/webhooks`, { url: `${sink.url}/gone-told`, events: ['webhook.disabled'] })
    await update('One')
    await expect.poll(() => at('/gone-told').length, { timeout: 60_000 }).toBe(1)
    const [told] = at('/gone-told').map(({ body }) => JSON.parse(body))
    expect([told.data.webhook.id, told.data.webhook.disabled]).toEqual([webhook.id, anyTime])
    await update('Two')
    expect(namesAt('/gone')).toEqual(['One'])
  })

  it.each([
    [429, '1800', 1_800],
    [503, '86400', 3_600],
    [429, new Date(Date.now() + 7_200_000).toUTCString(), 3_600],
  ])(
    'tries again after %d with Retry-After %s no sooner than it says, at most an hour',
    async (status, after, seconds) => {
      const path = `/later-${status}-${after.length}`
      answers.set(path, { status, headers: { 'retry-after': after } })
      const { webhook, update } = await listen(path)
      await update('One')
      await vi.waitFor(async () => {
        const [job] = await jobsOf(webhook.id)
        expect([job?.state, Math.abs((job?.delay ?? 0) - seconds) < 30]).toEqual(['retry', true])
      }, 20_000)
    },
  )

  it('cancels the deliveries of a deleted webhook', async ({ expect }) => {
    const { id, webhook, update } = await listen('/deleted')
    answers.set('/deleted', { status: 503 })
    await update('Coffee')
    await expect.poll(async () => (await jobsOf(webhook.id))[0]?.state).toBe('retry')
    await send('DELETE', `/merchants/${id}/webhooks/${webhook.id}`)
    await letTimePass(webhook.id)
    await expect.poll(async () => (await jobsOf(webhook.id))[0]?.state).toBe('completed')
    expect(at('/deleted')).toHaveLength(1)
    expect(await statusesOf(webhook.id)).toEqual(['cancelled'])
    expect(await statusesOf(webhook.id, '--status', 'delivered')).toEqual([])
  })

  // ASVS 1.3.6
  it('calls no address inside a network, whatever name resolves to it', async ({ expect }) => {
    const strict = await startPayments({ work: true })
    const { headers } = await createTestApp(strict)
    const response = await strict.app.inject({ method: 'POST', url: '/merchants', headers, payload: testMerchant })
    const { id } = response.json().merchant
    const url = `${sink.url.replace('127.0.0.1', 'localhost')}/inside`
    const created = await strict.app.inject({
      method: 'POST',
      url: `/merchants/${id}/webhooks`,
      headers,
      payload: { url: 'https://shop.example/inside' },
    })
    expect(created.statusCode).toBe(201)
    // A host name that resolves to this machine. The API refuses `localhost`, so write it to the table.
    await strict.database.db.updateTable('webhooks').set({ url }).execute()
    await strict.app.inject({ method: 'PUT', url: `/merchants/${id}`, headers, payload: { name: 'Coffee' } })
    const states = async () =>
      (
        await sql<{ state: string; output: unknown }>`
          SELECT state::text AS state, output FROM ${JOB} WHERE name = 'webhook_delivery'`.execute(strict.database.db)
      ).rows
    const message = 'AddressRefused: the address of localhost is not one that this service may call'
    const notes = [{ at: anyTime, error: message }]
    await expect.poll(states).toEqual([{ state: 'retry', output: { message, notes } }])
    expect(at('/inside')).toEqual([])
    await strict.close()
  })
})
