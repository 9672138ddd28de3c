import { columnsOfRow } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare, routeByTenant, type WithTenant } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type CallerColumns, type Credentials, callerRow } from '../access/caller.ts'
import { findBelowMerchant } from '../access/read-below-merchant.ts'
import { type AccessResult, type Judged, splitVerdict, type Verdict } from '../access/verdict.ts'
import { type BelowListInput, listBelowMerchant, readBelow } from '../pagination/list-below-merchant.ts'
import { type ListOfAllInput, listOfAll } from '../pagination/list-of-all.ts'
import { ONE_ROW, type PageBounds } from '../pagination/page-query.ts'
import type { Dispute, NewDispute } from './dispute.ts'

interface DisputeColumns {
  id: string
  merchant_id: string
  transaction_id: string
  amount: bigint
  dispute_currency: string
  excess: bigint
  reason_code: number
  reason_title: string
  due: Date
  status: Dispute['status']
  resolved: Date | null
  created: Date
}

const COLUMNS = `id, merchant_id, transaction_id, amount, currency AS dispute_currency, excess, reason_code, reason_title, due, status, resolved, created`
const source = { table: 'disputes', columns: () => columnsOfRow('r', COLUMNS) }

/** A dispute to open. `dispute` is `null` if only access is checked. */
export interface OpenDisputeCall extends CallerColumns {
  readonly transactionId: string
  readonly dispute: NewDispute | null
}

type OpenRow = {
  verdict: Verdict | 'limit-exceeded' | 'no-rate' | 'too-many-open'
  identity_id: string | null
  possible: bigint
  currency: string
} & (DisputeColumns | { id: null })

const openQuery = routeByTenant(
  prepare(
    'open_dispute',
    (p: WithTenant<OpenDisputeCall>) => sql<OpenRow>`
    SELECT f.verdict, f.identity_id, f.possible, f.currency, ${columnsOfRow('(f.dispute)', COLUMNS)}
    FROM ${sql.table('open_dispute')}(${callerRow(p)}, ${p.tenant}::text, ${p.transactionId}, ${p.dispute}) f`,
  ),
  ({ transactionId }, find) => find(transactionId),
)

/**
 * The result of opening a dispute. `possible` is the most that can be disputed, in minor units of the transaction's currency.
 * `no-rate` means that no exchange rate exists for the currency of the dispute.
 */
export type OpenedDispute =
  | { readonly verdict: 'opened'; readonly dispute: Dispute }
  | { readonly verdict: 'limit-exceeded'; readonly currency: string; readonly possible: bigint }
  | { readonly verdict: 'no-rate' | 'too-many-open' }

/**
 * Opens a dispute in one database call and reserves its amount. A caller of the API may dispute only captured money. An acquirer
 * or an operator may report a larger amount. An idempotent request returns the same dispute.
 */
export async function callOpenDispute(pools: Pools, input: OpenDisputeCall): Promise<Judged<OpenedDispute>> {
  const row = await pools.write.one(openQuery, input)
  const [verdict] = splitVerdict(row.verdict, ['limit-exceeded', 'no-rate', 'too-many-open'])
  return { verdict, identityId: row.identity_id, outcome: toOpenedDispute(row) }
}

function toOpenedDispute(row: OpenRow): OpenedDispute | undefined {
  const { verdict, currency, possible } = row
  if (verdict === 'limit-exceeded') return { verdict, currency, possible }
  if (verdict === 'no-rate' || verdict === 'too-many-open') return { verdict }
  return row.id === null ? undefined : { verdict: 'opened', dispute: toDispute(row) }
}

/** A dispute to close, and its outcome. The outcome is `null` if only access is checked. */
export interface CloseDisputeCall extends CallerColumns {
  readonly disputeId: string
  readonly outcome: 'won' | 'lost' | null
}

type ClosedDisputeRow = { verdict: Verdict | 'conflict' | 'trail-full'; identity_id: string | null } & (
  | DisputeColumns
  | { id: null }
)

const closeQuery = routeByTenant(
  prepare(
    'close_dispute',
    (p: WithTenant<CloseDisputeCall>) => sql<ClosedDisputeRow>`
    SELECT f.verdict, f.identity_id, ${columnsOfRow('(f.dispute)', COLUMNS)}
    FROM ${sql.table('close_dispute')}(${callerRow(p)}, ${p.tenant}::text, ${p.disputeId}, ${p.outcome}) f`,
  ),
  ({ disputeId }, find) => find(disputeId),
)

/**
 * The result of closing a dispute. `conflict`: the dispute was closed with the other outcome. `trail-full`: the trail of its
 * transaction cannot take another entry.
 */
export type ClosedDispute =
  | { readonly verdict: 'closed'; readonly dispute: Dispute }
  | { readonly verdict: 'conflict' | 'trail-full' }

/** Closes a dispute as won or lost in one database call. Closing it again with the same outcome changes nothing. */
export async function callCloseDispute(pools: Pools, input: CloseDisputeCall): Promise<Judged<ClosedDispute>> {
  const row = await pools.write.one(closeQuery, input)
  const [verdict] = splitVerdict(row.verdict, ['conflict', 'trail-full'])
  return { verdict, identityId: row.identity_id, outcome: toClosedDispute(row) }
}

function toClosedDispute(row: ClosedDisputeRow): ClosedDispute | undefined {
  const { verdict } = row
  if (verdict === 'conflict' || verdict === 'trail-full') return { verdict }
  return row.id === null ? undefined : { verdict: 'closed', dispute: toDispute(row) }
}

/**
 * A dispute of more than the captured amount, for a mail to its merchant. Amounts are minor units of `currency`. `worth` is in
 * minor units of `balanceCurrency`.
 */
export interface ExcessDispute {
  readonly merchantId: string
  readonly email: string
  readonly transactionId: string
  readonly id: string
  readonly amount: bigint
  readonly excess: bigint
  readonly currency: string
  /** The worth of the excess, in minor units of the merchant's `balanceCurrency`. Payouts hold this amount back. */
  readonly worth: bigint
  readonly balanceCurrency: string
  readonly due: Date
}

const excessQuery = routeByTenant(
  prepare(
    'find_excess_dispute',
    (p: { merchantId: string; disputeId: string }) => sql<ExcessDispute>`
    SELECT m.id AS "merchantId", m.email, d.transaction_id AS "transactionId", d.id, d.amount, d.excess, d.currency,
      CASE WHEN t.funding_currency = m.currency THEN d.excess_gross
        ELSE ${sql.table('to_euro')}(d.excess_gross, t.funding_currency) END AS worth,
      m.currency AS "balanceCurrency", d.due
    FROM ${sql.table('disputes')} d JOIN ${sql.table('merchants')} m ON m.id = d.merchant_id
    JOIN ${sql.table('transactions')} t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
    WHERE d.merchant_id = ${p.merchantId} AND d.id = ${p.disputeId} AND d.excess > 0`,
  ),
  ({ merchantId }) => merchantId,
)

/** Returns a dispute that has an excess. Resolves to `undefined` if the dispute has none. */
export function findExcessDispute(
  pools: Pools,
  input: { readonly merchantId: string; readonly disputeId: string },
): Promise<ExcessDispute | undefined> {
  return pools.read.first(excessQuery, input)
}

const readQuery = findBelowMerchant<DisputeColumns>('read_dispute', source)

/**
 * Returns a dispute by its id, for members of its merchant. The verdict is `not-found` for an unknown id and `forbidden` for a
 * caller who is not a member. Neither includes the dispute.
 */
export async function readDispute(
  pools: Pools,
  input: Credentials & { readonly id: string },
): Promise<AccessResult & { readonly dispute: Dispute | undefined }> {
  const row = await pools.read.one(readQuery, input)
  return { verdict: row.verdict, identityId: row.identity_id, dispute: row.id === null ? undefined : toDispute(row) }
}

const allOfMerchant = listBelowMerchant<BelowListInput, DisputeColumns>('list_disputes', source)
const ofTransaction = listBelowMerchant<BelowListInput & { transactionId: string }, DisputeColumns>(
  'list_disputes_of',
  source,
  (p) => sql`r.transaction_id = ${p.transactionId}`,
)

/**
 * Returns a page of the disputes of a merchant or of one of its transactions, for members of the merchant. The page has at most
 * `limit` disputes, by id in the order of `input`.
 */
export async function listDisputes(
  pools: Pools,
  {
    transactionId,
    ...input
  }: BelowListInput & Pick<PageBounds, 'order'> & { readonly transactionId: string | undefined },
): Promise<AccessResult & { readonly disputes: readonly Dispute[] }> {
  const { rows, ...access } =
    transactionId === undefined
      ? await readBelow(pools, allOfMerchant, input)
      : await readBelow(pools, ofTransaction, { ...input, transactionId })
  return { ...access, disputes: rows.map(toDispute) }
}

const allDisputes = listOfAll<DisputeColumns>('all_disputes', {
  table: 'disputes',
  columns: columnsOfRow('r', COLUMNS),
  filters: ['merchant_id', 'transaction_id', 'status', 'id'],
})

export async function listAllDisputes(pools: Pools, input: ListOfAllInput): Promise<readonly Dispute[]> {
  return (await allDisputes(pools, input)).map(toDispute)
}

/** Returns a dispute of any merchant by its id, for an operator. Resolves to `undefined` if the id is unknown. */
export async function findDisputeOfAll(pools: Pools, id: string): Promise<Dispute | undefined> {
  return (await listAllDisputes(pools, { ...ONE_ROW, filters: { id } }))[0]
}

function toDispute(row: DisputeColumns): Dispute {
  const { id, amount, excess, due, status, resolved, created } = row
  return {
    id,
    merchantId: row.merchant_id,
    transactionId: row.transaction_id,
    amount,
    currency: row.dispute_currency,
    excess,
    reason: { code: row.reason_code, title: row.reason_title },
    due,
    status,
    resolved,
    created,
  }
}
