import { deadLetterQueue } from '@trestle/jobs/task.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import { HIGHEST, LOWEST, ONE_ROW, type PageBounds } from '../pagination/page-query.ts'
import { deliveryTask, FIRST_CREATED, HAS_ENDED, IS_DEAD, OUTCOME, ROOT_ID } from './delivery.ts'
import type { DeliveryStatus } from './delivery-attempt.ts'
import type { EventType } from './event.ts'

/** A delivery, as the job queue stores it. */
export interface ListedDelivery {
  /** The id does not change if the job becomes a dead-letter job. */
  readonly id: string
  readonly status: DeliveryStatus
  /** The type of the event. `null` if the event was deleted because of its age. */
  readonly type: EventType | null
  readonly eventId: string
  readonly webhookId: string
  readonly merchantId: string
  /** `null` if the webhook is deleted. */
  readonly url: string | null
  readonly attempts: number
  /** The time when the delivery was sent to the queue, or put back after it was a dead-letter job. */
  readonly created: Date
  readonly lastAttempt: Date | null
  readonly nextAttempt: Date | null
  /** The reason why the last attempt failed. */
  readonly failure: string | null
  /** The position of the delivery in the list, as 24 hexadecimal digits. */
  readonly place: string
}

/** The filters of a list of deliveries. An `undefined` field does not filter. */
export interface DeliveryFilter {
  readonly id?: string | undefined
  readonly merchantId?: string | undefined
  readonly webhookId?: string | undefined
  readonly status?: DeliveryStatus | undefined
}

/**
 * Returns a page of the deliveries of all merchants. The queue keeps delivered and cancelled deliveries for an hour. It keeps
 * dead-letter jobs for 90 days, as copies in another queue. Their failed originals are left out.
 * @param schema the schema of the job queue
 */
export async function listDeliveries(
  db: Db,
  schema: string,
  { order, limit, above, below, ...filter }: DeliveryFilter & PageBounds,
): Promise<readonly ListedDelivery[]> {
  const direction = order === 'newest-first' ? sql`DESC` : sql`ASC`
  const page = ({ name, columns, created, holds }: Source) => sql`(
    SELECT ${ROOT} AS id, ${created} AS created, ${placeOf(created)} AS place, j.data ->> 'eventId' AS "eventId",
      j.data ->> 'webhookId' AS "webhookId", j.data ->> 'merchantId' AS "merchantId", ${columns}
    FROM ${sql.id(schema, 'job')} j WHERE j.name = ${sql.lit(name)} AND ${holds} AND ${isOnPage(created, { above, below })} AND ${isWanted(filter)}
    ORDER BY ${created} ${direction}, ${ROOT} ${direction} LIMIT ${limit}
  )`
  // Select the rows of the page first, so that webhooks and events are read only for these rows, on each server of a cluster too.
  const { rows } = await sql<ListedDelivery>`
    WITH d AS (
      SELECT * FROM (${sql.join(sourcesOf(filter.status).map(page), sql` UNION ALL `)}) q
      ORDER BY q.place ${direction} LIMIT ${limit}
    ), w AS (
      SELECT r.merchant_id, r.id, r.url FROM ${sql.table('webhooks')} r
      WHERE (r.merchant_id, r.id) IN (SELECT d."merchantId", d."webhookId" FROM d)
    ), e AS (
      SELECT r.merchant_id, r.id, r.type FROM ${sql.table('events')} r
      WHERE (r.merchant_id, r.id) IN (SELECT d."merchantId", d."eventId" FROM d)
    )
    SELECT d.*, d.id::text AS id, e.type, w.url
    FROM d
    LEFT JOIN w ON w.merchant_id = d."merchantId" AND w.id = d."webhookId"
    LEFT JOIN e ON e.merchant_id = d."merchantId" AND e.id = d."eventId"
    ORDER BY d.place ${direction}`.execute(db)
  return rows
}

/** Returns the queue's notes about the attempts of a delivery, up to 300 kB. Resolves to `null` if there are none. */
export async function findDeliveryNotes(db: Db, schema: string, id: string): Promise<unknown> {
  const ofQueue = ({ name, notes, holds }: Source) => sql`
    SELECT ${notes} AS notes FROM ${sql.id(schema, 'job')} j
    WHERE j.name = ${sql.lit(name)} AND ${holds} AND ${isWanted({ id })}`
  const { rows } = await sql<{ notes: unknown }>`
    ${sql.join(sourcesOf(undefined).map(ofQueue), sql` UNION ALL `)} LIMIT 1`.execute(db)
  return rows[0]?.notes ?? null
}

/** Returns a delivery of any merchant. Resolves to `undefined` if the queue has no delivery with this id, or no longer has it. */
export async function findDeliveryJob(db: Db, schema: string, id: string): Promise<ListedDelivery | undefined> {
  return (await listDeliveries(db, schema, { ...ONE_ROW, id }))[0]
}

const ROOT = sql.raw(ROOT_ID)

/** Add a part of the id, because jobs of a batch have the same time. */
function placeOf(created: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(lpad(to_hex((extract(epoch FROM ${created}) * 1000000)::bigint), 14, '0')
    || left(replace(${ROOT}::text, '-', ''), 10)) COLLATE "C"`
}

/**
 * Returns the condition on the jobs of a page, in the order of the indexes. `LOWEST` and `HIGHEST` add no condition: with two
 * conditions, the planner would expect few rows, and sort all rows of a merchant instead of reading the first from an index.
 */
function isOnPage(
  created: RawBuilder<unknown>,
  { above, below }: Pick<PageBounds, 'above' | 'below'>,
): RawBuilder<unknown> {
  const conditions = [
    ...(above === LOWEST ? [] : [sql`(${created}, ${ROOT}) > ${readPlace(above, 'f')}`]),
    ...(below === HIGHEST ? [] : [sql`(${created}, ${ROOT}) < ${readPlace(below, '0')}`]),
  ]
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` AND `)
}

/** The time and the id of a position in the list. @param digit replaces the missing digits of the id */
function readPlace(place: string, digit: '0' | 'f'): RawBuilder<unknown> {
  const microseconds = Number.parseInt(place.slice(0, 14), 16)
  const id = place.slice(14).padEnd(32, digit)
  return sql`('epoch'::timestamptz + ${microseconds}::float8 * interval '1 microsecond', ${id}::uuid)`
}

/** The expressions that read the jobs of one queue as deliveries. */
interface Source {
  readonly name: string
  readonly columns: RawBuilder<unknown>
  /** The notes are too long for a list. */
  readonly notes: RawBuilder<unknown>
  /** The time of the job. Indexes contain it alone, after the merchant, and after the webhook. */
  readonly created: RawBuilder<unknown>
  readonly holds: RawBuilder<unknown>
}

const DEAD: Source = {
  name: deadLetterQueue(deliveryTask),
  columns: sql`'failed' AS status, j.source_retry_count + 1 AS attempts, j.created_on AS "lastAttempt",
    NULL::timestamptz AS "nextAttempt", j.source_output ->> 'message' AS failure`,
  notes: sql`j.source_output -> 'notes'`,
  created: sql.raw(FIRST_CREATED),
  holds: sql.raw(IS_DEAD),
}

/** Returns the source of jobs in some states, without dead-letter jobs. */
function liveJobs(holds: RawBuilder<unknown>): Source {
  return {
    name: deliveryTask.name,
    columns: sql`CASE j.state WHEN 'created' THEN 'waiting' WHEN 'active' THEN 'sending' WHEN 'retry' THEN 'retrying'
        ELSE CASE WHEN ${sql.raw(OUTCOME)} = 'dropped' THEN 'cancelled' ELSE 'delivered' END END AS status,
      CASE WHEN j.started_on IS NULL THEN 0 ELSE j.retry_count + 1 END AS attempts, j.started_on AS "lastAttempt",
      CASE WHEN j.state IN ('created', 'retry') THEN j.start_after END AS "nextAttempt",
      CASE WHEN ${sql.raw(OUTCOME)} = 'dropped' THEN j.output -> 'notes' -> -1 ->> 'error'
        ELSE j.output ->> 'message' END AS failure`,
    notes: sql`j.output -> 'notes'`,
    created: sql`j.created_on`,
    holds,
  }
}

const IN_STATE: Readonly<Record<DeliveryStatus, Source>> = {
  waiting: liveJobs(sql`j.state = 'created'`),
  sending: liveJobs(sql`j.state = 'active'`),
  retrying: liveJobs(sql`j.state = 'retry'`),
  delivered: liveJobs(sql.raw(`${HAS_ENDED} AND ${OUTCOME} = 'done'`)),
  cancelled: liveJobs(sql.raw(`${HAS_ENDED} AND ${OUTCOME} = 'dropped'`)),
  failed: DEAD,
}

function sourcesOf(status: DeliveryStatus | undefined): readonly Source[] {
  if (status !== undefined) return [IN_STATE[status]]
  return [liveJobs(sql`j.state IN ('created', 'retry', 'active', 'completed')`), DEAD]
}

function isWanted({ id, merchantId, webhookId }: DeliveryFilter): RawBuilder<unknown> {
  const conditions = [
    ...(id === undefined
      ? []
      : [sql`(j.id = ${id}::uuid AND j.source_root_id IS NULL OR j.source_root_id = ${id}::uuid)`]),
    ...(merchantId === undefined ? [] : [sql`j.data ->> 'merchantId' = ${merchantId}`]),
    ...(webhookId === undefined ? [] : [sql`j.data ->> 'webhookId' = ${webhookId}`]),
  ]
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` AND `)
}

/**
 * Enables a webhook, for an operator. The webhook stays locked until the commit, so nobody can delete it in the meantime.
 * Resolves to `false` if the webhook does not exist.
 * @param trx a database transaction in the role of operators
 */
export async function callEnableWebhook(
  trx: Trx,
  { merchantId, webhookId }: Pick<ListedDelivery, 'merchantId' | 'webhookId'>,
): Promise<boolean> {
  const { rows } = await sql<{ isThere: boolean }>`
    SELECT ${sql.table('enable_webhook')}(${merchantId}, ${webhookId}) AS "isThere"`.execute(trx)
  return rows[0]?.isThere === true
}
