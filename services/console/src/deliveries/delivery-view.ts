import { z } from 'zod'

/** The states of a delivery, in the order in which it goes through them. */
export const DELIVERY_STATUSES = ['waiting', 'sending', 'retrying', 'delivered', 'dropped', 'failed'] as const

const Delivery = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  webhookId: z.string(),
  eventId: z.string(),
  type: z.string().optional(),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.int(),
  created: z.string(),
  error: z.string().optional(),
})
/** An event on its way to a webhook (console reference: Routes of payments). */
export type Delivery = z.infer<typeof Delivery>
/** A page of deliveries. */
export const DeliveriesView = z.object({ deliveries: z.array(Delivery) })

/** A delivery with its event and its attempts (console reference: Delivery of operators). */
export const ShownDelivery = z.object({
  delivery: Delivery,
  webhook: z.looseObject({ url: z.string() }).optional(),
  event: z.unknown().optional(),
  attempts: z.array(
    z.looseObject({
      at: z.string(),
      status: z.int().optional(),
      error: z.string().optional(),
      answer: z.string().optional(),
    }),
  ),
})
export type ShownDelivery = z.infer<typeof ShownDelivery>

/** How the state of a delivery looks. */
export const DELIVERY_TONES = {
  waiting: 'info',
  sending: 'info',
  retrying: 'warn',
  delivered: 'good',
  dropped: 'plain',
  failed: 'bad',
} as const satisfies Record<Delivery['status'], string>

/** Where deliveries are listed. */
export const DELIVERIES_PATH = '/deliveries'

/** Where a delivery is shown. */
export function deliveryPath(id: string): string {
  return `${DELIVERIES_PATH}/${encodeURIComponent(id)}`
}
