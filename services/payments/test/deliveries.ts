import { type StubAnswer, type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import type { LightMyRequestResponse } from 'fastify'
import { sql } from 'kysely'
import { expect, vi } from 'vitest'
import { operatorHeaders, testOperators } from './operators.ts'
import { createTestApp, createTestMerchant, startPayments, type TestApp, type TestPayments } from './payments-app.ts'

/** The service with a webhook receiver, and an operator who reads deliveries. */
export interface DeliveryWorld {
  readonly payments: TestPayments
  readonly member: TestApp
  readonly sink: StubProvider
  /** The receiver's answers by path. By default it accepts the event. */
  readonly answers: Map<string, StubAnswer | Promise<StubAnswer>>
  close(): Promise<void>
}

/** Starts the service and a receiver. */
export async function openDeliveryWorld(): Promise<DeliveryWorld> {
  const answers = new Map<string, StubAnswer | Promise<StubAnswer>>()
  const sink = await startStubProvider(({ url }) => answers.get(url) ?? {})
  const payments = await startPayments({
    operators: testOperators,
    work: true,
    webhookHosts: ['127.0.0.1'],
    lockTimeoutMs: 30_000,
  })
  const member = await createTestApp(payments)
  const close = async () => {
    await payments.close()
    await sink.close()
  }
  return { payments, member, sink, answers, close }
}

/** The webhook of a separate merchant, and an event that is being delivered. */
export interface SentEvent {
  readonly merchantId: string
  readonly webhook: { readonly id: string; readonly secret: string }
}

/** Creates a merchant with a webhook at a path of the receiver, and an event. */
export async function sendEvent({ payments, member, sink }: DeliveryWorld, path: string): Promise<SentEvent> {
  const { id: merchantId } = await createTestMerchant(payments, member, { test: true })
  const send = (method: 'POST' | 'PUT', url: string, payload: object) =>
    payments.app.inject({ method, url, headers: member.headers, payload })
  const wanted = { url: sink.url + path, events: ['merchant.updated'] }
  const { webhook } = (await send('POST', `/merchants/${merchantId}/webhooks`, wanted)).json()
  await send('PUT', `/merchants/${merchantId}`, { name: 'Coffee' })
  return { merchantId, webhook }
}

/** Makes the next attempt due. @param retries the number of attempts after the first, as the queue counts them */
export async function retrySoon({ payments }: DeliveryWorld, { webhook }: SentEvent, retries = 0): Promise<void> {
  await sql`
    UPDATE ${sql.id(payments.deps.names.jobSchema, 'job')} SET start_after = now(), retry_count = ${retries}
    WHERE state = 'retry' AND data ->> 'webhookId' = ${webhook.id}`.execute(payments.owner.db)
}

/** Reads deliveries as a viewer. `rest` is `?webhook=…` or `/ID`. */
export function getDeliveries({ payments }: DeliveryWorld, rest: string): Promise<LightMyRequestResponse> {
  return payments.app.inject({ url: `/operator/deliveries${rest}`, headers: operatorHeaders('viewer') })
}

/** Waits until a webhook's deliveries have these states, newest first, and returns them. */
export async function waitForStatuses(
  world: DeliveryWorld,
  { webhook }: SentEvent,
  statuses: readonly string[],
): Promise<readonly { readonly id: string; readonly [member: string]: unknown }[]> {
  const list = async () => (await getDeliveries(world, `?webhook=${webhook.id}`)).json().deliveries
  const statusesNow = async () => (await list()).map(({ status }: { status: string }) => status)
  await vi.waitFor(async () => expect(await statusesNow()).toEqual(statuses), { timeout: 60_000, interval: 200 })
  return list()
}
