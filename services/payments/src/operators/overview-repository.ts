import { sql } from 'kysely'
import type { Db } from '../database.ts'

/**
 * Whether a merchant takes real payments or only tries out the service. Rows and JSON bodies express the mode as the boolean
 * `test`. Functions that choose by it take this type.
 */
export type MerchantMode = 'live' | 'test'

/** The customers' payments in a currency, by the UTC day of their authorization. Amounts are in minor units. */
export interface DayFigures {
  /** For example, `2026-03-01`. */
  readonly date: string
  readonly currency: string
  /** The amount captured so far from the payments of this day. */
  readonly volume: bigint
  /** The number of this day's payments that have a capture. */
  readonly captures: number
  /** The number of refused payments. */
  readonly declines: number
}

const DAYS = 30

/**
 * Returns the figures of the last 30 UTC days for the merchants of a mode, oldest day first. The first eight hexadecimal digits
 * of an id are a time in seconds, so the index of ids finds the transactions.
 */
export async function listDayFigures(db: Db, mode: MerchantMode): Promise<readonly DayFigures[]> {
  const since = sql`(date_trunc('day', now() AT TIME ZONE 'UTC') - ${sql.lit(DAYS - 1)}::int * interval '1 day')`
  const { rows } = await sql<DayFigures>`
    SELECT to_char(r.created AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS date, r.currency, sum(r.captured)::bigint AS volume,
      (count(*) FILTER (WHERE r.captured > 0))::int AS captures, (count(*) FILTER (WHERE NOT r.successful))::int AS declines
    FROM ${sql.table('transactions')} r
    WHERE r.id >= lpad(to_hex(extract(epoch FROM ${since} AT TIME ZONE 'UTC')::bigint), 8, '0')
      AND r.created >= ${since} AT TIME ZONE 'UTC' AND ${mode === 'test' ? sql`r.test` : sql`NOT r.test`}
    GROUP BY 1, 2 ORDER BY 1, 2`.execute(db)
  return rows
}

export interface WaitingCounts {
  readonly openDisputes: number
  readonly openExceptions: number
  readonly unknownAttempts: number
}

export async function countWaiting(db: Db, mode: MerchantMode): Promise<WaitingCounts> {
  const count = async (table: string, condition: ReturnType<typeof sql>) => {
    const { rows } = await sql<{ count: number }>`
      SELECT count(*)::int AS count FROM ${sql.table(table)} r JOIN ${sql.table('merchants')} m ON m.id = r.merchant_id
      WHERE m.test = ${mode === 'test'} AND ${condition}`.execute(db)
    return rows[0]?.count ?? 0
  }
  return {
    openDisputes: await count('disputes', sql`r.status = 'open'`),
    openExceptions: await count('acquirer_exceptions', sql`r.resolved IS NULL`),
    // The first condition repeats the condition of the partial index, so that PostgreSQL can use the index.
    unknownAttempts: await count('attempts', sql`r.state IN ('sent', 'unknown') AND r.state = 'unknown'`),
  }
}

/** The sum of the positive balances in a currency, in minor units, and the number of merchants that have such a balance. */
export interface DueFigures {
  readonly currency: string
  readonly amount: bigint
  readonly merchants: number
}

/**
 * Returns the sums of positive balances of the merchants of a mode, by currency. The actual payouts are lower if disputes are
 * open or captures are recent. The sum is capped at the largest bigint, which only test merchants can reach.
 */
export async function listDuePayouts(db: Db, mode: MerchantMode): Promise<readonly DueFigures[]> {
  const { rows } = await sql<DueFigures>`
    SELECT b.currency, least(sum(b.balance), 9223372036854775807)::bigint AS amount, count(*)::int AS merchants
    FROM ${sql.table('merchant_balances')} b JOIN ${sql.table('merchants')} m ON m.id = b.merchant_id
    WHERE m.test = ${mode === 'test'} AND b.balance > 0 GROUP BY 1 ORDER BY 1`.execute(db)
  return rows
}

/** Counts the dead-letter jobs in a queue that belong to merchants of a mode. */
export async function countDeadJobsOf(
  db: Db,
  { schema, queue, mode }: { readonly schema: string; readonly queue: string; readonly mode: MerchantMode },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*)::int AS count FROM ${sql.id(schema, 'job')} j
    JOIN ${sql.table('merchants')} m ON m.id = j.data ->> 'merchantId'
    WHERE j.name = ${queue} AND m.test = ${mode === 'test'}`.execute(db)
  return rows[0]?.count ?? 0
}
