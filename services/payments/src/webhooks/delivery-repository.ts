import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { MerchantEvent } from '../events/event.ts'
import { type EventColumns, eventColumns, toEvent } from '../events/event-repository.ts'
import type { DeliveryJob } from './delivery.ts'
import type { SealedSecrets } from './webhook.ts'

/** What is sent, where, and under which secrets. */
export interface Delivery {
  readonly event: MerchantEvent
  readonly url: string
  readonly secrets: SealedSecrets
}

type DeliveryColumns = EventColumns & {
  readonly url: string
  readonly secret_sealed: Buffer
  readonly previous_sealed: Buffer | null
  readonly previous_until: Date | null
}

const findQuery = prepare(
  'find_delivery',
  (p: DeliveryJob) => sql<DeliveryColumns>`
    SELECT ${eventColumns}, w.url, w.secret_sealed, w.previous_sealed, w.previous_until
    FROM ${sql.table('webhooks')} w
    JOIN ${sql.table('events')} r ON r.merchant_id = w.merchant_id AND r.id = ${p.eventId}
    WHERE w.merchant_id = ${p.merchantId} AND w.id = ${p.webhookId} AND w.disabled IS NULL`,
)

/** Undefined when the webhook is deleted or given up, or the event too old. */
export async function findDelivery(lanes: Lanes, job: DeliveryJob): Promise<Delivery | undefined> {
  const row = await lanes.read.first(findQuery, job)
  if (!row) return undefined
  const { url, secret_sealed, previous_sealed, previous_until, ...event } = row
  const secrets = { current: secret_sealed, previous: previous_sealed, previousUntil: previous_until }
  return { event: toEvent(event), url, secrets }
}

const disableQuery = prepare(
  'disable_webhook',
  (p: Omit<DeliveryJob, 'eventId'>) => sql`SELECT ${sql.table('disable_webhook')}(${p.merchantId}, ${p.webhookId})`,
)

/** Gives a webhook up, and tells it as an event. */
export async function callDisableWebhook(lanes: Lanes, job: DeliveryJob): Promise<void> {
  await lanes.write.one(disableQuery, job)
}

/** `after`: less than the ids of the events that are sent. */
export interface ReplayInput {
  readonly merchantId: string
  readonly webhookId: string
  readonly after: string
}

const replayQuery = prepare(
  'replay_webhook',
  (p: ReplayInput) => sql<{ events: bigint | null }>`
    SELECT ${sql.table('replay_webhook')}(${p.merchantId}, ${p.webhookId}, ${p.after}) AS events`,
)

/** Has events sent again; answers how many, undefined when there is no such webhook. */
export async function callReplayWebhook(lanes: Lanes, input: ReplayInput): Promise<number | undefined> {
  const { events } = await lanes.write.one(replayQuery, input)
  return events === null ? undefined : Number(events)
}
