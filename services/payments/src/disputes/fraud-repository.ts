import { columnsOfRow } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare, routeByTenant, type WithTenant } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type CallerColumns, type Credentials, callerRow } from '../access/caller.ts'
import { findBelowMerchant } from '../access/read-below-merchant.ts'
import type { AccessResult, Verdict } from '../access/verdict.ts'
import { type BelowListInput, listBelowMerchant, readBelow } from '../pagination/list-below-merchant.ts'
import { type ListOfAllInput, listOfAll } from '../pagination/list-of-all.ts'
import type { PageBounds } from '../pagination/page-query.ts'
import type { Fraud } from './fraud.ts'

interface FraudColumns {
  id: string
  merchant_id: string
  transaction_id: string
  reported: Date | null
  reason: number | null
  created: Date
}

const COLUMNS = 'id, merchant_id, transaction_id, reported, reason, created'
const source = { table: 'frauds', columns: () => columnsOfRow('r', COLUMNS) }

/** A fraud alert about a transaction. `reason` is 0 to 8 (reference: Fraud alerts). */
export interface NewFraud {
  readonly reason?: number | undefined
  /** A timestamp of RFC 3339. */
  readonly reported?: string | undefined
  /** The acquirer's own reference, without the name of the acquirer. A second alert with the same reference is not stored. */
  readonly acquirerRef?: string | undefined
}

/** A fraud alert to add. `fraud` is `null` if only access is checked. */
export interface AddFraudCall extends CallerColumns {
  readonly transactionId: string
  readonly fraud: NewFraud | null
}

type FraudRow = { verdict: Verdict; identity_id: string | null } & (FraudColumns | { id: null })

/** A fraud alert with the verdict on access. `fraud` is `undefined` if no alert was found. */
export interface FraudResult extends AccessResult {
  readonly fraud: Fraud | undefined
}

const addQuery = routeByTenant(
  prepare(
    'add_fraud',
    (p: WithTenant<AddFraudCall>) => sql<FraudRow>`
    SELECT f.verdict, f.identity_id, ${columnsOfRow('(f.fraud)', COLUMNS)}
    FROM ${sql.table('add_fraud')}(${callerRow(p)}, ${p.tenant}::text, ${p.transactionId}, ${p.fraud}) f`,
  ),
  ({ transactionId }, find) => find(transactionId),
)

/** Adds a fraud alert. The alert moves no money. */
export async function callAddFraud(pools: Pools, input: AddFraudCall): Promise<FraudResult> {
  return toFraudResult(await pools.write.one(addQuery, input))
}

const readQuery = findBelowMerchant<FraudColumns>('read_fraud', source)

/** Returns a fraud alert by its id, for members. `not-found` for an unknown id, `forbidden` for other callers. */
export async function readFraud(pools: Pools, input: Credentials & { readonly id: string }): Promise<FraudResult> {
  return toFraudResult(await pools.read.one(readQuery, input))
}

const allOfMerchant = listBelowMerchant<BelowListInput, FraudColumns>('list_frauds', source)
const ofTransaction = listBelowMerchant<BelowListInput & { transactionId: string }, FraudColumns>(
  'list_frauds_of',
  source,
  (p) => sql`r.transaction_id = ${p.transactionId}`,
)

/**
 * Returns a page of the fraud alerts of a merchant or of one of its transactions, for members of the merchant. The page has at
 * most `limit` alerts, by id in the order of `input`.
 */
export async function listFrauds(
  pools: Pools,
  {
    transactionId,
    ...input
  }: BelowListInput & Pick<PageBounds, 'order'> & { readonly transactionId: string | undefined },
): Promise<AccessResult & { readonly frauds: readonly Fraud[] }> {
  const { rows, ...access } =
    transactionId === undefined
      ? await readBelow(pools, allOfMerchant, input)
      : await readBelow(pools, ofTransaction, { ...input, transactionId })
  return { ...access, frauds: rows.map(toFraud) }
}

const allFrauds = listOfAll<FraudColumns>('all_frauds', {
  table: 'frauds',
  columns: columnsOfRow('r', COLUMNS),
  filters: ['merchant_id', 'transaction_id'],
})

export async function listAllFrauds(pools: Pools, input: ListOfAllInput): Promise<readonly Fraud[]> {
  return (await allFrauds(pools, input)).map(toFraud)
}

function toFraudResult(row: FraudRow): FraudResult {
  return { verdict: row.verdict, identityId: row.identity_id, fraud: row.id === null ? undefined : toFraud(row) }
}

function toFraud({ id, merchant_id, transaction_id, reported, reason, created }: FraudColumns): Fraud {
  return { id, merchantId: merchant_id, transactionId: transaction_id, reported, reason, created }
}
