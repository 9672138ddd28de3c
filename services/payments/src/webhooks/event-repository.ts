import type { Pools } from '@trestle/database/pools.ts'
import { type RawBuilder, sql } from 'kysely'
import type { AccessResult } from '../access/verdict.ts'
import type { Db } from '../database.ts'
import { merchantPages } from '../merchants/each-merchant.ts'
import { type BelowListInput, listBelowMerchant, readBelow } from '../pagination/list-below-merchant.ts'
import type { Chunk, PageBounds } from '../pagination/page-query.ts'
import type { EventType, MerchantEvent } from './event.ts'
import { objectColumn, viewObject } from './event-objects.ts'

/** The columns that queries select from an event `r`. */
export interface EventColumns {
  id: string
  merchant_id: string
  type: EventType
  version: number
  created: Date
  object: unknown
}

/** Returns the columns of an event. The query must name the table `r`. */
export function eventColumns(merchantId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`r.id, r.merchant_id, r.type, r.version, r.created, ${objectColumn(merchantId)}`
}

const listQueries = listBelowMerchant<BelowListInput, EventColumns>(
  'list_events',
  { table: 'events', columns: eventColumns, entries: sql`coalesce(r.trail_length, 0)` },
  () => sql`r.created > now() - interval '30 days'`,
)

/**
 * Returns a page of a merchant's events of the last 30 days, or the first chunk of the page. The result has at most `limit`
 * events, by id in the order of `input`.
 */
export async function listEvents(
  pools: Pools,
  input: BelowListInput & Pick<PageBounds, 'order'>,
): Promise<AccessResult & Chunk<MerchantEvent>> {
  const { rows, ...rest } = await readBelow(pools, listQueries, input)
  return { ...rest, rows: rows.map(toEvent) }
}

/** Returns an event of a merchant, for an operator. Resolves to `undefined` if the event is unknown or older than 30 days. */
export async function findEvent(db: Db, merchantId: string, id: string): Promise<MerchantEvent | undefined> {
  const { rows } = await sql<EventColumns>`
    SELECT ${eventColumns(sql`${merchantId}`)} FROM ${sql.table('events')} r WHERE r.merchant_id = ${merchantId} AND r.id = ${id}`.execute(
    db,
  )
  return rows.map(toEvent)[0]
}

/** The greatest id of a merchant. Later events have greater ids. */
export interface MerchantHead {
  readonly merchantId: string
  readonly lastId: string
}

/** Returns the heads of all test merchants, or only of the test merchant `merchantId`. At most `limit` heads are returned. */
export async function listTestHeads(
  db: Db,
  { merchantId, limit }: { readonly merchantId: string | undefined; readonly limit: number },
): Promise<readonly MerchantHead[]> {
  const { rows } = await sql<MerchantHead>`
    SELECT b.merchant_id AS "merchantId", b.last_id AS "lastId"
    FROM ${sql.table('merchant_balances')} b JOIN ${sql.table('merchants')} m ON m.id = b.merchant_id
    WHERE m.test AND (${merchantId ?? null}::text IS NULL OR m.id = ${merchantId ?? null})
    LIMIT ${limit}`.execute(db)
  return rows
}

/** Returns the events of a merchant after an id, oldest first, for an operator. */
export async function listEventsAfter(
  db: Db,
  { merchantId, after, limit }: { readonly merchantId: string; readonly after: string; readonly limit: number },
): Promise<readonly MerchantEvent[]> {
  const { rows } = await sql<EventColumns>`
    SELECT ${eventColumns(sql`${merchantId}`)} FROM ${sql.table('events')} r
    WHERE r.merchant_id = ${merchantId} AND r.id > ${after} ORDER BY r.id LIMIT ${limit}`.execute(db)
  return rows.map(toEvent)
}

/** Returns the event of a row, with its object at that time. @throws Error if the noun is unknown or the object missing */
export function toEvent({ merchant_id, object, ...row }: EventColumns): MerchantEvent {
  return { ...row, merchantId: merchant_id, data: viewObject(row.type, object) }
}

/** The most events that one statement deletes. */
const BATCH_ROWS = 1_000

/**
 * Deletes events older than 30 days and resolves to their number. Finds the events by their ids, one merchant after another. A
 * SQL function deletes them, because the service has no permission to delete events.
 */
export async function deleteOldEvents(db: Db): Promise<number> {
  let total = 0
  for await (const ids of merchantPages(db)) {
    for (let deleted = BATCH_ROWS; deleted === BATCH_ROWS; total += deleted)
      deleted = await deleteBatchOfEvents(db, ids)
  }
  return total
}

async function deleteBatchOfEvents(db: Db, merchantIds: readonly string[]): Promise<number> {
  const { rows } = await sql<{ deleted: number }>`
    SELECT ${sql.table('delete_old_events')}(${merchantIds}::text[], ${sql.lit(BATCH_ROWS)}) AS deleted`.execute(db)
  return rows[0]?.deleted ?? 0
}
