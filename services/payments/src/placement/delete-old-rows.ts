import { sql } from 'kysely'
import type { Db, PaymentsTables } from '../database.ts'

/** The rows that are old: those whose `column` is longer ago than `age`, an interval of PostgreSQL. */
export interface OldRows {
  readonly column: string
  readonly age: string
}

const BATCH_ROWS = 1_000

/**
 * Deletes old rows, a batch a statement, until a batch is not full. Lock order: none is needed, because a
 * statement skips locked rows. They stay until the next run. An index serves the column, or
 * the table is small. Resolves to how many rows were deleted.
 */
export async function deleteOldRows(
  db: Db,
  table: keyof PaymentsTables & string,
  { column, age }: OldRows,
): Promise<number> {
  const batch = sql`SELECT ctid FROM ${sql.table(table)} WHERE ${sql.ref(column)} < now() - ${sql.lit(age)}::interval
    LIMIT ${sql.lit(BATCH_ROWS)} FOR UPDATE SKIP LOCKED`
  let total = 0
  for (;;) {
    const { numAffectedRows = 0n } =
      await sql`DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY(${batch}))`.execute(db)
    total += Number(numAffectedRows)
    if (numAffectedRows < BATCH_ROWS) return total
  }
}
