import { createHash } from 'node:crypto'
import type { OutboxEntry, TakeRows } from '@trestle/jobs/outbox.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { type OutboxRow, outboxKinds, outboxRows, toEntries } from '../webhooks/outbox.ts'

interface RowKey {
  readonly merchant_id: string
  readonly id: string
}

/**
 * Takes rows of the outbox where they lie on the nodes of their merchants, and the queue of jobs on the coordinator. No transaction has
 * both. So a job gets an id that follows from its row: a process that ends between the commit of the jobs and the deletion of the
 * rows leaves rows whose jobs the queue has already, and which it does not add again. One process takes rows at a time; the lock is
 * on the coordinator.
 */
export function takeDistributedRows(db: Db): TakeRows {
  return async (trx, limit, left) => {
    const lock = await sql<{ granted: boolean }>`
      SELECT pg_try_advisory_xact_lock(hashtext('payments outbox')) AS granted`.execute(trx)
    if (lock.rows[0]?.granted !== true) return { rows: 0, entries: [] }
    const { rows } = await sql<RowKey>`
      SELECT merchant_id, id FROM ${sql.table('outbox')} WHERE kind <> ALL (${outboxKinds(left)}::text[])
      LIMIT ${sql.lit(limit)}`.execute(trx)
    const byMerchant = [...Map.groupBy(rows, (row) => row.merchant_id)].map(
      ([merchantId, keys]) => [merchantId, keys.map(({ id }) => id)] as const,
    )
    const entries: OutboxEntry[] = []
    for (const [merchantId, ids] of byMerchant) {
      const found = await sql<OutboxRow>`
        SELECT ${outboxRows(sql`${merchantId}`)} WHERE t.merchant_id = ${merchantId} AND t.id = ANY (${ids}::text[])`.execute(
        trx,
      )
      entries.push(...found.rows.flatMap((row) => toEntries(row).map((entry) => ({ ...entry, id: jobId(row) }))))
    }
    return { rows: rows.length, entries, remove: () => deleteRows(db, byMerchant) }
  }
}

async function deleteRows(db: Db, byMerchant: readonly (readonly [string, readonly string[]])[]): Promise<void> {
  for (const [merchantId, ids] of byMerchant) {
    await sql`
      DELETE FROM ${sql.table('outbox')} WHERE merchant_id = ${merchantId} AND id = ANY (${ids}::text[])`.execute(db)
  }
}

/** A UUID (version 8) that is the same for a row and a webhook, whichever process takes the row. */
function jobId({ merchant_id, id, kind, webhook_id }: OutboxRow): string {
  const hex = createHash('sha256').update([merchant_id, id, kind, webhook_id].join(' ')).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
