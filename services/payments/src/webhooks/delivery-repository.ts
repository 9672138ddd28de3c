import { deadQueue } from '@trestle/jobs/task.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import { deliveryTask } from './delivery.ts'

/** An event on its way to a webhook, as the job queue has it. */
export interface ListedDelivery {
  readonly id: string
  /** `dropped`: the webhook was gone or disabled, or the event too old. `failed`: after the last attempt. */
  readonly status: 'waiting' | 'sending' | 'retrying' | 'delivered' | 'dropped' | 'failed'
  /** The type of the event. Null when the event is too old to be kept. */
  readonly type: string | null
  readonly eventId: string
  readonly webhookId: string
  readonly merchantId: string
  /** Null when the webhook is deleted. */
  readonly url: string | null
  readonly attempts: number
  readonly lastAttempt: Date | null
  readonly nextAttempt: Date | null
  /** Why the last attempt failed. */
  readonly failure: string | null
}

/** Which deliveries to list. An undefined field filters nothing. */
export interface DeliveryFilter {
  readonly id?: string | undefined
  readonly merchantId?: string | undefined
  readonly webhookId?: string | undefined
  readonly status?: ListedDelivery['status'] | undefined
  readonly limit: number
}

/**
 * The newest deliveries. The queue keeps those that were delivered or dropped for an hour, and those that have failed for good for
 * 90 days, in another queue; the copy that failed is left out.
 * @param schema the schema of the job queue
 */
export async function listDeliveries(
  db: Db,
  schema: string,
  { id, merchantId, webhookId, status, limit }: DeliveryFilter,
): Promise<readonly ListedDelivery[]> {
  // The page is chosen first, so that webhooks and events are read for the page alone, on each node of a distributed database too.
  const { rows } = await sql<ListedDelivery>`
    WITH d AS (
      SELECT * FROM (${jobsAsDeliveries(schema)}) j
      WHERE (${id ?? null}::text IS NULL OR j.id::text = ${id ?? null})
        AND (${merchantId ?? null}::text IS NULL OR j."merchantId" = ${merchantId ?? null})
        AND (${webhookId ?? null}::text IS NULL OR j."webhookId" = ${webhookId ?? null})
        AND (${status ?? null}::text IS NULL OR j.status = ${status ?? null})
      ORDER BY j.created_on DESC, j.id LIMIT ${limit}
    ), w AS (
      SELECT r.merchant_id, r.id, r.url FROM ${sql.table('webhooks')} r
      WHERE (r.merchant_id, r.id) IN (SELECT d."merchantId", d."webhookId" FROM d)
    ), e AS (
      SELECT r.merchant_id, r.id, r.type FROM ${sql.table('events')} r
      WHERE (r.merchant_id, r.id) IN (SELECT d."merchantId", d."eventId" FROM d)
    )
    SELECT d.id::text AS id, d.status, e.type, d."eventId", d."webhookId", d."merchantId", w.url, d.attempts,
      d."lastAttempt", d."nextAttempt", d.failure
    FROM d
    LEFT JOIN w ON w.merchant_id = d."merchantId" AND w.id = d."webhookId"
    LEFT JOIN e ON e.merchant_id = d."merchantId" AND e.id = d."eventId"
    ORDER BY d.created_on DESC, d.id`.execute(db)
  return rows
}

/** Selects the jobs of deliveries as operators see them. */
function jobsAsDeliveries(schema: string): RawBuilder<unknown> {
  return sql`
    SELECT j.id, j.created_on, j.data ->> 'eventId' AS "eventId", j.data ->> 'webhookId' AS "webhookId",
      j.data ->> 'merchantId' AS "merchantId",
      CASE WHEN j.name <> ${deliveryTask.name} THEN 'failed' ELSE CASE j.state::text WHEN 'created' THEN 'waiting'
        WHEN 'active' THEN 'sending' WHEN 'retry' THEN 'retrying'
        ELSE CASE WHEN j.output ->> 'outcome' = 'dropped' THEN 'dropped' ELSE 'delivered' END END END AS status,
      CASE WHEN j.name <> ${deliveryTask.name} THEN j.source_retry_count + 1
        WHEN j.started_on IS NULL THEN 0 ELSE j.retry_count + 1 END AS attempts,
      CASE WHEN j.name <> ${deliveryTask.name} THEN j.created_on ELSE j.started_on END AS "lastAttempt",
      CASE WHEN j.name = ${deliveryTask.name} AND j.state::text IN ('created', 'retry') THEN j.start_after END
        AS "nextAttempt",
      CASE WHEN j.name = ${deliveryTask.name} THEN j.output ELSE j.source_output END ->> 'message' AS failure
    FROM ${sql.id(schema, 'job')} j
    WHERE j.name = ${deliveryTask.name} AND j.state::text IN ('created', 'retry', 'active', 'completed')
      OR j.name = ${deadQueue(deliveryTask)}`
}
