import type { Pools } from '@trestle/database/pools.ts'
import { sql } from 'kysely'
import { listOfAll } from '../pagination/list-of-all.ts'
import { ONE_ROW, type PageBounds } from '../pagination/page-query.ts'

/** An authorization at an acquirer as operators see it. `amount` is in minor units of `currency`. */
export interface AttemptForOperator {
  readonly id: string
  readonly merchantId: string
  readonly created: Date
  readonly amount: number
  readonly currency: string
  /** `null` stands for the simulator. */
  readonly acquirer: string | null
  readonly state: 'sent' | 'approved' | 'declined' | 'unknown' | 'reversed'
  /** The transaction of the attempt, for a payment by a customer. */
  readonly transactionId: string | null
}

const columns = sql`r.id, r.merchant_id AS "merchantId", r.created, (r.request ->> 'amount')::float8 AS amount,
  r.request ->> 'currency' AS currency, r.request ->> 'acquirer' AS acquirer, r.state, t.id AS "transactionId"`
const join = sql`LEFT JOIN ${sql.table('transactions')} t
  ON t.merchant_id = r.merchant_id AND t.session_id = r.request ->> 'sessionId'`

const unknownAttempts = listOfAll<AttemptForOperator>('unknown_attempts', {
  table: 'attempts',
  columns,
  join,
  filters: [],
  // The second condition implies the `IN` condition. The planner uses the partial index of open attempts only if both are written
  flags: { unknown: sql`r.state IN ('sent', 'unknown') AND r.state = 'unknown'` },
})

export function listUnknownAttempts(pools: Pools, page: PageBounds): Promise<readonly AttemptForOperator[]> {
  return unknownAttempts(pools, { ...page, filters: {}, flags: { unknown: true } })
}

const attempts = listOfAll<AttemptForOperator>('attempts_by_id', {
  table: 'attempts',
  columns,
  join,
  filters: ['merchant_id', 'id'],
})

/** Returns an attempt of a merchant in any state, or `undefined` if it does not exist. */
export async function findAttemptForOperator(
  pools: Pools,
  { merchantId, id }: { readonly merchantId: string; readonly id: string },
): Promise<AttemptForOperator | undefined> {
  return (await attempts(pools, { ...ONE_ROW, filters: { merchant_id: merchantId, id } }))[0]
}
