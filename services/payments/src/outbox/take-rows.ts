import type { TakeRows } from '@trestle/jobs/outbox.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'
import { sql } from 'kysely'

interface TakenRow {
  readonly task: string
  readonly data: object
}

/**
 * Takes rows that functions of the database have left. The kind of a row is the name of its task; its job knows the row's
 * merchant and id besides what was written.
 */
export const takeRows: TakeRows = async (trx, limit) => {
  const { rows } = await sql<TakenRow>`
    WITH picked AS MATERIALIZED (
      SELECT merchant_id, id FROM ${sql.table('outbox')} LIMIT ${sql.lit(limit)} FOR UPDATE SKIP LOCKED
    )
    DELETE FROM ${sql.table('outbox')} o USING picked
    WHERE o.merchant_id = picked.merchant_id AND o.id = picked.id
    RETURNING o.kind AS task, o.payload || jsonb_build_object('merchantId', o.merchant_id, 'id', o.id) AS data
  `.execute(trx)
  return { rows: rows.length, entries: rows }
}

/** The same, with a count of the jobs of a task that nobody will do for now. */
export function countWaiting(take: TakeRows, { name }: AnyTask, count: (jobs: number) => void): TakeRows {
  return async (trx, limit) => {
    const taken = await take(trx, limit)
    count(taken.entries.filter(({ task }) => task === name).length)
    return taken
  }
}
