import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'

/** The maximum number of exactly counted rows. */
export const EXACT_ROWS_MAX = 100_000
/** A table with this estimated length has more than `EXACT_ROWS_MAX` rows, even if the statistics are old. */
const SURELY_LONG_ROWS = 5 * EXACT_ROWS_MAX

/**
 * Counts the rows of `FROM … WHERE …`: exactly up to 100,000, above that by the planner's estimate (reference: Lists of users).
 * Estimates of searches are bad, so rows are always counted first.
 */
export async function countFound(db: Db, rows: RawBuilder<unknown>): Promise<number> {
  const counted = await sql<{ count: bigint }>`
    SELECT count(*) AS count FROM (SELECT ${rows} LIMIT ${sql.lit(EXACT_ROWS_MAX + 1)}) AS counted`.execute(db)
  const count = Number(counted.rows[0]?.count ?? 0)
  return count <= EXACT_ROWS_MAX ? count : Math.max(count, await estimateRows(db, rows))
}

/** Counts the rows of a whole list. A long list is estimated. */
export async function countAll(db: Db, rows: RawBuilder<unknown>): Promise<number> {
  const estimated = await estimateRows(db, rows)
  return estimated >= SURELY_LONG_ROWS ? estimated : countFound(db, rows)
}

/** The planner's estimate for `FROM … WHERE …`. */
export async function estimateRows(db: Db, rows: RawBuilder<unknown>): Promise<number> {
  type Explained = { readonly 'QUERY PLAN': readonly { readonly Plan: { readonly 'Plan Rows': number } }[] }
  const explained = await sql<Explained>`EXPLAIN (FORMAT JSON) SELECT ${rows}`.execute(db)
  return explained.rows[0]?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
}
