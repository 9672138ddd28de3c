import type { Pools } from '@trestle/database/pools.ts'
import { prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { listOfAll } from '../pagination/list-of-all.ts'
import type { PageBounds } from '../pagination/page-query.ts'

/** A batch in an operator's list. `payouts` is their number. */
export interface ListedBatch {
  readonly id: string
  readonly created: Date
  readonly payouts: number
}

/** The newest batches, at most `limit`, newest first. */
export async function listBatches(db: Db, limit: number): Promise<readonly ListedBatch[]> {
  const { rows } = await sql<ListedBatch>`
    SELECT b.id, b.created, jsonb_array_length(b.payouts) AS payouts FROM ${sql.table('payout_batches')} b
    ORDER BY b.id DESC LIMIT ${limit}`.execute(db)
  return rows
}

/** A batch in a list of operators, with the sums of its payouts in minor units. `payouts` is their number. */
export interface OperatedBatch {
  readonly id: string
  readonly created: Date
  readonly payouts: number
  readonly currencies: { currency: string; amount: number }[]
}

interface BatchColumns {
  readonly id: string
  readonly created: Date
  readonly named: readonly { readonly id: string; readonly merchantId: string }[]
}

const batches = listOfAll<BatchColumns>('all_batches', {
  table: 'payout_batches',
  columns: sql`r.id, r.created, r.payouts AS named`,
  filters: [],
})

const sumsQuery = prepareOnCoordinator(
  'payouts_of_batches',
  (p: { merchantIds: readonly string[]; ids: readonly string[] }) => sql<{
    id: string
    currency: string
    amount: bigint
  }>`
    SELECT r.id, r.currency, r.amount FROM ${sql.table('payouts')} r
    WHERE (r.merchant_id, r.id) IN (SELECT * FROM unnest(${p.merchantIds}::text[], ${p.ids}::text[]))`,
)

export async function listOperatedBatches(pools: Pools, page: PageBounds): Promise<readonly OperatedBatch[]> {
  const rows = await batches(pools, { ...page, filters: {} })
  const named = rows.flatMap((row) => row.named)
  const input = { merchantIds: named.map(({ merchantId }) => merchantId), ids: named.map(({ id }) => id) }
  const payouts = new Map((await pools.read.all(sumsQuery, input)).map((payout) => [payout.id, payout]))
  return rows.map(({ id, created, named: own }) => {
    const sums = new Map<string, bigint>()
    for (const { id: payoutId } of own) {
      const payout = payouts.get(payoutId)
      if (payout) sums.set(payout.currency, (sums.get(payout.currency) ?? 0n) + payout.amount)
    }
    const currencies = [...sums].map(([currency, amount]) => ({ currency, amount: Number(amount) }))
    return { id, created, payouts: own.length, currencies }
  })
}
