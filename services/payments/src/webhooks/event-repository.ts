import type { Lanes } from '@trestle/database/lanes.ts'
import { sql } from 'kysely'
import type { AccessResult } from '../access/require-access.ts'
import type { PageBounds } from '../pagination/cursor.ts'
import { type BelowListInput, listBelowMerchant, readBelow } from '../pagination/list-below-merchant.ts'
import type { Piece } from '../pagination/pieces.ts'
import type { EventType, MerchantEvent } from './event.ts'
import { objectColumn, viewObject } from './event-objects.ts'

/** The columns that queries select of an event `r`. */
export interface EventColumns {
  id: string
  merchant_id: string
  type: EventType
  version: number
  created: Date
  object: unknown
}

export const eventColumns = sql`r.id, r.merchant_id, r.type, r.version, r.created, ${objectColumn}`

const listQueries = listBelowMerchant<BelowListInput, EventColumns>(
  'list_events',
  { table: 'events', columns: eventColumns, entries: sql`coalesce(r.trail_length, 0)` },
  () => sql`r.created > now() - interval '30 days'`,
)

/** A page of the events of a merchant in the last 30 days, or the first piece of the page. */
export async function listEvents(
  lanes: Lanes,
  input: BelowListInput & Pick<PageBounds, 'order'>,
): Promise<AccessResult & Piece<MerchantEvent>> {
  const { rows, ...rest } = await readBelow(lanes, listQueries, input)
  return { ...rest, rows: rows.map(toEvent) }
}

/** Makes an event of a row, with its object as it was at that time. */
export function toEvent({ merchant_id, object, ...row }: EventColumns): MerchantEvent {
  return { ...row, merchantId: merchant_id, data: viewObject(row.type, object) }
}
