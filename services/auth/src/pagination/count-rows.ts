import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { AuthDatabase } from '../database.ts'

const EXACT_MAX = 100_000
/** A table that is estimated to be that long is surely longer than `EXACT_MAX`, however old its statistics are. */
const SURELY_LONG = 5 * EXACT_MAX

/**
 * How many rows `FROM … WHERE …` gives: exactly up to 100,000, beyond that as the planner estimates
 * (reference: Lists of users). What a search matches is estimated badly, so it is always counted first.
 */
export async function countFound(db: Kysely<AuthDatabase>, rows: RawBuilder<unknown>): Promise<number> {
  const counted = await sql<{ count: bigint }>`
    SELECT count(*) AS count FROM (SELECT ${rows} LIMIT ${sql.lit(EXACT_MAX + 1)}) AS counted`.execute(db)
  const count = Number(counted.rows[0]?.count ?? 0)
  return count <= EXACT_MAX ? count : Math.max(count, await estimate(db, rows))
}

/** The same of a whole list, which is not counted at all where it is long. */
export async function countAll(db: Kysely<AuthDatabase>, rows: RawBuilder<unknown>): Promise<number> {
  const estimated = await estimate(db, rows)
  return estimated >= SURELY_LONG ? estimated : countFound(db, rows)
}

async function estimate(db: Kysely<AuthDatabase>, rows: RawBuilder<unknown>): Promise<number> {
  type Explained = { readonly 'QUERY PLAN': readonly { readonly Plan: { readonly 'Plan Rows': number } }[] }
  const explained = await sql<Explained>`EXPLAIN (FORMAT JSON) SELECT ${rows}`.execute(db)
  return explained.rows[0]?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
}
