import { z } from 'zod'
import { DELIVERY_STATUSES } from './delivery-attempt.ts'
import type { ListedDelivery } from './delivery-repository.ts'
import { EVENT_TYPES } from './event.ts'

export const DeliveryView = z
  .object({
    id: z.guid(),
    merchantId: z.string(),
    webhookId: z.string(),
    eventId: z.string(),
    type: z.enum(EVENT_TYPES).optional().describe('Absent when the event is too old to be kept'),
    status: z.enum(DELIVERY_STATUSES),
    attempts: z.int().describe('How often it was tried'),
    created: z.iso.datetime(),
    error: z.string().optional().describe('Why the last attempt failed'),
  })
  .meta({ id: 'Delivery' })

export function viewDelivery(delivery: ListedDelivery): z.infer<typeof DeliveryView> {
  const { id, merchantId, webhookId, eventId, type, status, attempts, created, failure } = delivery
  return {
    id,
    merchantId,
    webhookId,
    eventId,
    status,
    attempts,
    created: created.toISOString(),
    type: type ?? undefined,
    error: failure ?? undefined,
  }
}
