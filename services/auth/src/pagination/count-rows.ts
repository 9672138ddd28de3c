import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { AuthDatabase } from '../database.ts'

const EXACT_MAX = 100_000

interface Plan {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows': number } }]
}

/** How many rows `FROM … WHERE …` gives: exactly up to 100,000, beyond that as the planner estimates (contract 4.8). */
export async function countRows(db: Kysely<AuthDatabase>, rows: RawBuilder<unknown>): Promise<number> {
  const counted = await sql<{ count: bigint }>`
    SELECT count(*) AS count FROM (SELECT ${rows} LIMIT ${sql.lit(EXACT_MAX + 1)}) AS counted`.execute(db)
  const count = Number(counted.rows[0]?.count ?? 0)
  if (count <= EXACT_MAX) return count
  const explained = await sql<Plan>`EXPLAIN (FORMAT JSON) SELECT ${rows}`.execute(db)
  return Math.max(count, explained.rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? count)
}
