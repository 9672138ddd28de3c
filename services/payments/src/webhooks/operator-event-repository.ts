import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { CHUNK, type Chunk, type PageBounds } from '../pagination/page-query.ts'
import type { EventSummary, EventType, MerchantEvent } from './event.ts'
import { type EventColumns, eventColumns, toEvent } from './event-repository.ts'

/** The filters of an operator's list of a merchant's events. If `type` is `undefined`, the list has all types. */
export interface EventsForOperatorInput extends PageBounds {
  readonly merchantId: string
  readonly type: EventType | undefined
}

type PageColumns = Omit<EventsForOperatorInput, 'order'>

const pageQueries = {
  'newest-first': pageQuery('events_of_merchant', sql`DESC`),
  'oldest-first': pageQuery('events_of_merchant_reversed', sql`ASC`),
}

function pageQuery(name: string, order: RawBuilder<unknown>) {
  return prepare(
    name,
    (p: PageColumns) => sql<EventColumns & { found: number }>`
    SELECT ${eventColumns(sql`${p.merchantId}`)}, r.found FROM (
      SELECT v.*, (count(*) OVER ())::int AS found, coalesce(sum(coalesce(v.trail_length, 0)) OVER (
        ORDER BY v.id ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ), 0) AS entries_before
      FROM (
        SELECT * FROM ${sql.table('events')} o
        WHERE o.merchant_id = ${p.merchantId} AND o.id > ${p.above} AND o.id < ${p.below}
          AND o.created > now() - interval '30 days' AND (${p.type}::text IS NULL OR o.type = ${p.type}::text)
        ORDER BY o.id ${order} LIMIT ${p.limit}
      ) v
    ) r WHERE r.entries_before < ${sql.lit(CHUNK.entries)}
    ORDER BY r.id ${order}`,
  )
}

/**
 * Returns a page of a merchant's events of the last 30 days, for an operator. The page ends early if the trails of its objects
 * become too long in total.
 */
export async function listEventsForOperator(
  { read }: Pools,
  { order, ...input }: EventsForOperatorInput,
): Promise<Chunk<MerchantEvent>> {
  const rows = await read.all(pageQueries[order], input)
  return { rows: rows.map(({ found: _, ...row }) => toEvent(row)), isCut: rows.length < (rows[0]?.found ?? 0) }
}

/** The largest number of events that are shown for a transaction. */
const EVENTS_OF_TRANSACTION_MAX = 25

const eventsOfTransactionQuery = prepare('events_of_transaction', (p: { merchantId: string; id: string }) => {
  const after = (id: RawBuilder<unknown>, steps: number) =>
    sql`${sql.table('id_at')}(${sql.table('id_number')}(${id}) + ${sql.lit(steps)}, right(${id}, 8))`
  const newest = sql`LIMIT ${sql.lit(EVENTS_OF_TRANSACTION_MAX)}`
  const ofTransaction = (row: string) => {
    return sql`WHERE ${sql.id(row)}.merchant_id = ${p.merchantId} AND ${sql.id(row)}.transaction_id = ${p.id}`
  }
  return sql<EventSummary>`
    WITH objects AS (
      SELECT ${p.id}::text AS id
      UNION ALL (SELECT d.id FROM ${sql.table('disputes')} d ${ofTransaction('d')} ORDER BY d.id DESC ${newest})
      UNION ALL (SELECT f.id FROM ${sql.table('frauds')} f ${ofTransaction('f')} ORDER BY f.id DESC ${newest})
    ), expected AS (
      SELECT ${after(sql`o.id`, 1)} AS id, o.id AS object_id FROM objects o
      UNION ALL (
        SELECT ${after(sql`t.id`, 2)}, coalesce(t.dispute_id, t.transaction_id)
        FROM ${sql.table('trail_entries')} t ${ofTransaction('t')} ORDER BY t.seq DESC ${newest}
      )
    )
    SELECT v.id, v.type, v.created FROM ${sql.table('events')} v
    WHERE v.merchant_id = ${p.merchantId} AND (v.id, v.object_id) IN (SELECT e.id, e.object_id FROM expected e)
    ORDER BY v.id DESC ${newest}`
})

/**
 * Returns the newest events of a transaction, of its disputes and of its fraud alerts, newest first, for an operator. No index
 * covers the object of an event. But the id of an event follows from the id of its cause (the SQL function `post`). The event of
 * a new object has the next id. The event of a trail entry has the id after the next one.
 */
export async function listEventsOfTransaction(
  { read }: Pools,
  input: { readonly merchantId: string; readonly id: string },
): Promise<readonly EventSummary[]> {
  return await read.all(eventsOfTransactionQuery, input)
}
