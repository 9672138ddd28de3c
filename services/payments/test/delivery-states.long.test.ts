import { type StubAnswer, type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { watchRows } from '@trestle/testing/watched-rows.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ONE_ROW } from '../src/pagination/page-query.ts'
import { deliveryTask } from '../src/webhooks/delivery.ts'
import { listDeliveries } from '../src/webhooks/delivery-repository.ts'
import { drawnFor } from './drawn-arrows.ts'
import { createTestApp, createTestMerchant, startPayments, type TestApp, type TestPayments } from './payments-app.ts'

const JOBS = 'payments_jobs.job'

let sink: StubProvider
/** The sink's answers by path. By default it accepts the event. */
const answers = new Map<string, StubAnswer>()
let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  sink = await startStubProvider(({ url }) => answers.get(url) ?? {})
  payments = await startPayments({ work: true, webhookHosts: ['127.0.0.1'] })
  member = await createTestApp(payments)
})
afterAll(async () => {
  await payments.close()
  await sink.close()
})

interface Job {
  readonly id: string
  readonly state: string
  readonly output: { readonly outcome?: string } | null
}

/** Returns the state of a delivery from its job in the queue. */
function deliveryState({ state, output }: Job): string {
  if (state === 'completed') return output?.outcome === 'dropped' ? 'cancelled' : 'delivered'
  return { created: 'waiting', active: 'sending', retry: 'retrying', failed: 'failed' }[state] ?? state
}

/** Returns the observed state changes of deliveries. For a retry, the queue deletes the row and inserts it with the new state. */
async function arrowsOfDeliveries(): Promise<readonly string[]> {
  const { rows } = await sql<{ after: Job }>`
    SELECT after FROM public.changes WHERE after ->> 'name' = ${deliveryTask.name} ORDER BY at`.execute(
    payments.owner.db,
  )
  const last = new Map<string, string>()
  const arrows = new Set<string>()
  for (const { after } of rows) {
    const [from, to] = [last.get(after.id) ?? 'none', deliveryState(after)]
    if (from !== to) arrows.add(`${from} --> ${to}`)
    last.set(after.id, to)
  }
  return [...arrows].sort()
}

/** Creates a webhook that gets one event at a path of the sink, and functions to change its delivery. */
async function deliver(path: string) {
  const { id } = await createTestMerchant(payments, member, { test: true })
  const send = async (method: 'POST' | 'PUT' | 'DELETE', url: string, payload: object) =>
    payments.app.inject({ method, url, headers: member.headers, payload })
  const created = await send('POST', `/merchants/${id}/webhooks`, {
    url: sink.url + path,
    events: ['merchant.updated'],
  })
  const webhookId = String(created.json().webhook.id)
  await send('PUT', `/merchants/${id}`, { name: 'Coffee' })
  return {
    becomes: (status: string) =>
      expect
        .poll(async () => {
          const { db, names } = payments.owner
          return (await listDeliveries(db, names.jobSchema, { ...ONE_ROW, webhookId, limit: 2 })).map(
            (each) => each.status,
          )
        })
        .toEqual([status]),
    /** Makes the next attempt due. @param retries the number of attempts after the first, as the queue counts them */
    retry: (retries = 0) =>
      sql`
        UPDATE ${sql.id('payments_jobs', 'job')} SET start_after = now(), retry_count = ${retries}
        WHERE state = 'retry' AND data ->> 'webhookId' = ${webhookId}`.execute(payments.owner.db),
    deleteWebhook: () => send('DELETE', `/merchants/${id}/webhooks/${webhookId}`, {}),
  }
}

it('a delivery goes through the arrows of its diagram, and through no others', async () => {
  const watched = await watchRows(payments.url, { [JOBS]: () => 'none' })
  await (await deliver('/at-once')).becomes('delivered')

  answers.set('/later', { status: 500 })
  const late = await deliver('/later')
  await late.becomes('retrying')
  await late.retry()
  await expect.poll(() => sink.requests.filter(({ url }) => url === '/later')).toHaveLength(2)
  await late.becomes('retrying')
  answers.delete('/later')
  await late.retry()
  await late.becomes('delivered')

  answers.set('/never', { status: 500 })
  const failing = await deliver('/never')
  await failing.becomes('retrying')
  await failing.retry(deliveryTask.retryLimit - 1)
  await failing.becomes('failed')

  answers.set('/deleted', { status: 500 })
  const cancelled = await deliver('/deleted')
  await cancelled.becomes('retrying')
  await cancelled.deleteWebhook()
  await cancelled.retry()
  await cancelled.becomes('cancelled')

  // The queue deletes the rows of ended deliveries later.
  const drawn = drawnFor('webhooks')[1]?.filter((arrow) => !arrow.endsWith(' --> none'))
  expect(await arrowsOfDeliveries()).toEqual(drawn)
  await watched.close()
})
