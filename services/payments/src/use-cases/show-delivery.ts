import type { Pools } from '@trestle/database/pools.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { refuseMissing } from '../access/require-access.ts'
import type { Db } from '../database.ts'
import { type DeliveryAttempt, parseAttempts } from '../webhooks/delivery-attempt.ts'
import { findDeliveryJob, findDeliveryNotes, type ListedDelivery } from '../webhooks/delivery-repository.ts'
import type { MerchantEvent } from '../webhooks/event.ts'
import { findEvent } from '../webhooks/event-repository.ts'
import type { Webhook } from '../webhooks/webhook.ts'
import { listShownWebhooks } from '../webhooks/webhook-repository.ts'

/** A delivery with its event, its webhook and its attempts. */
export interface ShownDelivery {
  readonly delivery: ListedDelivery
  /** `undefined` if the webhook is deleted. */
  readonly webhook: Webhook | undefined
  /** `undefined` if the event was deleted because of its age. */
  readonly event: MerchantEvent | undefined
  /** Oldest first. */
  readonly attempts: readonly DeliveryAttempt[]
}

/** Returns a delivery of any merchant, for an operator. @throws notFound if the queue does not contain it */
export async function showDelivery(
  {
    operatorDb,
    names,
    operatorPools,
  }: { readonly operatorDb: Db; readonly names: Names; readonly operatorPools: Pools },
  id: string,
): Promise<ShownDelivery> {
  const delivery = (id === '' ? undefined : await findDeliveryJob(operatorDb, names.jobSchema, id)) ?? refuseMissing()
  const { merchantId, eventId, webhookId } = delivery
  const [webhooks, event, notes] = await Promise.all([
    listShownWebhooks(operatorPools, merchantId),
    findEvent(operatorDb, merchantId, eventId),
    findDeliveryNotes(operatorDb, names.jobSchema, id),
  ])
  const webhook = webhooks.find((each) => each.id === webhookId)
  return { delivery, webhook, event, attempts: parseAttempts(notes) }
}
