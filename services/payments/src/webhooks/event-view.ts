import { z } from 'zod'
import { EVENT_TYPES, type MerchantEvent } from './event.ts'

/** The JSON of an event, the same in lists and deliveries (reference: Events). */
export const EventView = z
  .object({
    id: z.string(),
    type: z.enum(EVENT_TYPES),
    version: z.int().describe('The version of the layout of data'),
    created: z.iso.datetime(),
    merchantId: z.string(),
    data: z.record(z.string(), z.unknown()).describe('The object as it was then, under its noun'),
  })
  .meta({ id: 'Event' })

/** The JSON of an event. Deliveries contain the same. */
export function viewEvent({ id, type, version, created, merchantId, data }: MerchantEvent): z.infer<typeof EventView> {
  return { id, type, version, created: created.toISOString(), merchantId, data: { ...data } }
}
