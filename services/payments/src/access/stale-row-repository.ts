import { type RawBuilder, sql } from 'kysely'
import type { Db, PaymentsTables } from '../database.ts'

/** How many rows of a table were deleted. */
export type DeletedRows = Readonly<Partial<Record<keyof PaymentsTables, number>>>

const BATCH_ROWS = 1_000

/**
 * Deletes rows, a batch a statement, until a batch is not full. Lock order: none is needed, because a statement skips the rows
 * that somebody holds. They stay until the next run.
 * @param stale the condition of a stale row. An index serves it, or the table is small
 */
export async function deleteStaleRows(
  db: Db,
  table: keyof PaymentsTables,
  stale: RawBuilder<unknown>,
): Promise<number> {
  const batch = sql`SELECT ctid FROM ${sql.table(table)} WHERE ${stale} LIMIT ${sql.lit(BATCH_ROWS)} FOR UPDATE SKIP LOCKED`
  let total = 0
  for (;;) {
    const { numAffectedRows = 0n } =
      await sql`DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY(${batch}))`.execute(db)
    total += Number(numAffectedRows)
    if (numAffectedRows < BATCH_ROWS) return total
  }
}

/** Deletes the Idempotency-Keys of more than a day. */
export async function deleteOldKeys(db: Db): Promise<DeletedRows> {
  const stale = sql`created < now() - interval '24 hours'`
  return {
    idempotency: await deleteStaleRows(db, 'idempotency', stale),
    merchant_creations: await deleteStaleRows(db, 'merchant_creations', stale),
  }
}
