import type { Meter } from '@opentelemetry/api'
import type { OutboxEntry, TakeRows } from '@trestle/jobs/outbox.ts'
import { type RawBuilder, sql } from 'kysely'
import { countMails } from '../mail/mailer.ts'
import { invitationMailTask, rejectionMailTask } from '../mail/mails.ts'
import { type DeliveryJob, type DeliveryTimes, deliveryTask, shareSecondsOf } from './delivery.ts'

/** A row of the outbox that is read for a job. An event appears once for each webhook that subscribes to it. */
export interface OutboxRow {
  readonly kind: string
  readonly data: object
  readonly merchant_id: string
  readonly id: string
  readonly webhook_id: string | null
}

const EVENT = 'event'

/** Returns the kinds of outbox rows for tasks of jobs. */
export function outboxKinds(tasks: readonly string[]): readonly string[] {
  return tasks.map((task) => (task === deliveryTask.name ? EVENT : task))
}

/** Columns and tables of a query over rows `t` of an outbox. @param merchantId restricts the other tables to the merchant */
export function outboxRows(
  merchantId: RawBuilder<unknown>,
  table: RawBuilder<unknown> = sql.table('outbox'),
): RawBuilder<unknown> {
  return sql`t.kind, t.merchant_id, t.id,
      t.payload || jsonb_build_object('merchantId', t.merchant_id, 'id', t.id) AS data, w.id AS webhook_id
    FROM ${table} t
    LEFT JOIN (${sql.table('events')} e JOIN ${sql.table('webhooks')} w
      ON w.merchant_id = e.merchant_id AND w.disabled IS NULL AND (w.events = '{}' OR e.type = ANY (w.events))
    ) ON t.kind = ${EVENT} AND e.merchant_id = ${merchantId} AND w.merchant_id = ${merchantId} AND e.id = t.id
      AND coalesce((t.payload -> 'webhookIds') ? w.id, true)`
}

/**
 * Takes rows from the outbox, which SQL functions have inserted, and turns them into jobs. An event becomes one job for each
 * webhook that subscribes to its type. For other rows, the kind is the name of the task, and the job also gets the merchant and
 * id of the row. No lock order is needed, because the statement skips rows that another process has locked.
 */
export const takeRows: TakeRows = async (trx, limit, left) => {
  const { rows } = await sql<OutboxRow & { readonly taken: number }>`
    WITH picked AS MATERIALIZED (
      SELECT merchant_id, id FROM ${sql.table('outbox')} WHERE kind <> ALL (${outboxKinds(left)}::text[])
      LIMIT ${sql.lit(limit)} FOR UPDATE SKIP LOCKED
    ), taken AS (
      DELETE FROM ${sql.table('outbox')} o USING picked
      WHERE o.merchant_id = picked.merchant_id AND o.id = picked.id
      RETURNING o.merchant_id, o.id, o.kind, o.payload
    )
    SELECT (SELECT count(*)::int FROM taken) AS taken, ${outboxRows(sql`t.merchant_id`, sql`taken`)}
  `.execute(trx)
  return { rows: rows[0]?.taken ?? 0, entries: rows.flatMap(toEntries) }
}

/** Returns the jobs for a row of the outbox. An event without a subscribed webhook needs no job. */
export function toEntries({ kind, data, merchant_id, id, webhook_id }: OutboxRow): readonly OutboxEntry[] {
  // Each merchant has a fair share, so many operations of one merchant do not delay other merchants.
  if (kind !== EVENT) return [{ task: kind, data, group: merchant_id }]
  if (webhook_id === null) return []
  const job: DeliveryJob = { merchantId: merchant_id, eventId: id, webhookId: webhook_id }
  return [{ task: deliveryTask.name, data: job, group: merchant_id }]
}

interface TakeOptions {
  readonly times: DeliveryTimes
  /** Counts waiting mails. `undefined` if a mail server is set. */
  readonly meter: Meter | undefined
}

/**
 * Turns outbox rows into jobs. The events of a merchant with slower webhooks get longer shares. Without a mail server, mails are
 * counted as waiting, because nothing sends them yet.
 */
export function takeJobs(takeRows: TakeRows, { times, meter }: TakeOptions): TakeRows {
  const mails = meter && countMails(meter)
  const withShare = (entry: OutboxEntry): OutboxEntry => {
    if (entry.task !== deliveryTask.name || entry.group === undefined) return entry
    return { ...entry, shareSeconds: shareSecondsOf(times, entry.group) }
  }
  return async (trx, limit, left) => {
    const taken = await takeRows(trx, limit, left)
    mails?.add(taken.entries.filter(({ task }) => MAIL_TASKS.has(task)).length, { outcome: 'waiting' })
    return { ...taken, entries: taken.entries.map(withShare) }
  }
}

const MAIL_TASKS: ReadonlySet<string> = new Set([invitationMailTask.name, rejectionMailTask.name])
