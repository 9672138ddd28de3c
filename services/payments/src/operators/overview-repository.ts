import { sql } from 'kysely'
import type { Db } from '../database.ts'

/**
 * Whether a merchant takes payments of customers or tries out the service. Rows and bodies have it as `test`; a function that
 * chooses by it takes the mode.
 */
export type MerchantMode = 'live' | 'test'

/** The payments of customers in a currency, by the UTC day on which they were authorized. Amounts are minor units. */
export interface DayFigures {
  /** `2026-03-01`. */
  readonly date: string
  readonly currency: string
  /** The amount captured until now of the payments of this day. */
  readonly volume: bigint
  /** The number of these payments with a capture. */
  readonly captures: number
  /** The number of payments that were refused. */
  readonly declines: number
}

const DAYS = 30

/**
 * The figures of the last 30 UTC days, the oldest first, of the merchants of a mode. The first eight digits of an id are
 * seconds, so the index of ids finds the transactions.
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
    // The first condition is the condition of the index.
    unknownAttempts: await count('attempts', sql`r.state IN ('sent', 'unknown') AND r.state = 'unknown'`),
  }
}

/** The sum of the balances above 0 in a currency, in minor units, and how many merchants have them. */
export interface DueFigures {
  readonly currency: string
  readonly amount: bigint
  readonly merchants: number
}

/**
 * The balances above 0 of the merchants of a mode, by currency. A payout takes less where disputes are open
 * or captures are young. A sum of test merchants beyond bigint ends at its largest value.
 */
export async function listDuePayouts(db: Db, mode: MerchantMode): Promise<readonly DueFigures[]> {
  const { rows } = await sql<DueFigures>`
    SELECT b.currency, least(sum(b.balance), 9223372036854775807)::bigint AS amount, count(*)::int AS merchants
    FROM ${sql.table('merchant_balances')} b JOIN ${sql.table('merchants')} m ON m.id = b.merchant_id
    WHERE m.test = ${mode === 'test'} AND b.balance > 0 GROUP BY 1 ORDER BY 1`.execute(db)
  return rows
}

/** Counts jobs of a queue of dead-letter jobs, of the merchants of a mode. */
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
