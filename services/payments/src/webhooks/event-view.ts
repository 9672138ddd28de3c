import { z } from 'zod'
import { EVENT_TYPES, type EventSummary, type MerchantEvent } from './event.ts'

/** The JSON of an event, both in lists and in deliveries (reference: Events). */
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

/** The JSON of an event without the changed object, which may be long. */
export const EventSummaryView = EventView.pick({ id: true, type: true, created: true }).meta({ id: 'EventSummary' })

export function viewEventSummary({ id, type, created }: EventSummary): z.infer<typeof EventSummaryView> {
  return { id, type, created: created.toISOString() }
}

/** Returns the JSON of an event, also for deliveries. */
export function viewEvent({ id, type, version, created, merchantId, data }: MerchantEvent): z.infer<typeof EventView> {
  return { id, type, version, created: created.toISOString(), merchantId, data: { ...data } }
}
