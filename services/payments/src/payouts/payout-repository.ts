import { columnsOfRow } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare, routeByTenant, type WithTenant } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type CallerColumns, type Credentials, callerRow } from '../access/caller.ts'
import { findBelowMerchant } from '../access/read-below-merchant.ts'
import { type AccessResult, type Judged, splitVerdict, type Verdict } from '../access/verdict.ts'
import type { Db } from '../database.ts'
import { type BelowListInput, listBelowMerchant, readBelow } from '../pagination/list-below-merchant.ts'
import { type ListOfAllInput, listOfAll } from '../pagination/list-of-all.ts'
import { ONE_ROW, type PageBounds } from '../pagination/page-query.ts'
import type { Payout, PayoutSkip } from './payout.ts'

interface PayoutColumns {
  id: string
  merchant_id: string
  amount: bigint
  currency: string
  status: Payout['status']
  line_id: string
  iban: string
  test: boolean
  created: Date
}

const COLUMNS = 'id, merchant_id, amount, currency, status, line_id, iban, test, created'
const source = { table: 'payouts', columns: () => columnsOfRow('r', COLUMNS) }

/** `minimumMajorUnits` and `delayDays` are `null` if the call only checks access. */
export interface PayOutCall extends CallerColumns {
  readonly merchantId: string
  readonly minimumMajorUnits: number | null
  readonly delayDays: number | null
}

type PayOutRow = { verdict: Verdict | 'skipped'; identity_id: string | null; reason: PayoutSkip } & (
  | PayoutColumns
  | { id: null }
)

/** A payout with the access verdict. `payout` is `undefined` if it was not found. */
export interface PayoutResult extends AccessResult {
  readonly payout: Payout | undefined
}

/** The payout of the day, or the reason why there is none. */
export type PaidOut =
  | { readonly verdict: 'paid'; readonly payout: Payout }
  | { readonly verdict: 'skipped'; readonly reason: PayoutSkip }

const payOutQuery = prepare(
  'pay_out',
  (p: PayOutCall) => sql<PayOutRow>`
    SELECT f.verdict, f.identity_id, f.reason, ${columnsOfRow('(f.payout)', COLUMNS)}
    FROM ${sql.table('pay_out')}(${callerRow(p)}, ${p.merchantId}, ${p.minimumMajorUnits}, ${p.delayDays}) f`,
)

/** Pays out the whole available amount to a merchant, once a day. */
export async function callPayOut(pools: Pools, input: PayOutCall): Promise<Judged<PaidOut>> {
  const row = await pools.write.one(payOutQuery, input)
  const [verdict] = splitVerdict(row.verdict, ['skipped'])
  return { verdict, identityId: row.identity_id, outcome: toPaidOut(row) }
}

function toPaidOut(row: PayOutRow): PaidOut | undefined {
  if (row.verdict === 'skipped') return { verdict: 'skipped', reason: row.reason }
  return row.id === null ? undefined : { verdict: 'paid', payout: toPayout(row) }
}

type ClosedPayoutRow = { verdict: 'done' | 'not-found' | 'conflict' } & (PayoutColumns | { id: null })

const closeQuery = routeByTenant(
  prepare(
    'close_payout',
    (p: WithTenant<{ id: string; outcome: 'settled' | 'failed' }>) => sql<ClosedPayoutRow>`
    SELECT f.verdict, ${columnsOfRow('(f.payout)', COLUMNS)} FROM ${sql.table('close_payout')}(${p.tenant}::text, ${p.id}, ${p.outcome}) f`,
  ),
  ({ id }, find) => find(id),
)

/** A payout after settling or failing. `conflict` means that the payout already has the other outcome and was not changed. */
export type MovedPayout =
  | { readonly verdict: 'not-found' }
  | { readonly verdict: 'done' | 'conflict'; readonly payout: Payout }

/** Marks a payout as settled or failed. A failed payout returns its money to the balance. */
export async function callClosePayout(
  pools: Pools,
  input: { readonly id: string; readonly outcome: 'settled' | 'failed' },
): Promise<MovedPayout> {
  const row = await pools.write.one(closeQuery, input)
  const { verdict } = row
  return row.id === null || verdict === 'not-found' ? { verdict: 'not-found' } : { verdict, payout: toPayout(row) }
}

const readQuery = findBelowMerchant<PayoutColumns>('read_payout', source)

/** Reads a payout. The verdict is `not-found` for an unknown id, and `forbidden` unless the caller is a member. */
export async function readPayout(pools: Pools, input: Credentials & { readonly id: string }): Promise<PayoutResult> {
  return toPayoutResult(await pools.read.one(readQuery, input))
}

const payoutsOfMerchant = listBelowMerchant<BelowListInput, PayoutColumns>('list_payouts', source)

/** A page of a merchant's payouts, for its members: at most `limit`, ordered by id as `order` says. */
export async function listPayouts(
  pools: Pools,
  input: BelowListInput & Pick<PageBounds, 'order'>,
): Promise<AccessResult & { readonly payouts: readonly Payout[] }> {
  const { rows, ...access } = await readBelow(pools, payoutsOfMerchant, input)
  return { ...access, payouts: rows.map(toPayout) }
}

const payoutsOfAll = listOfAll<PayoutColumns>('all_payouts', {
  table: 'payouts',
  columns: columnsOfRow('r', COLUMNS),
  filters: ['merchant_id', 'status', 'id'],
})

export async function listPayoutsOfAll(pools: Pools, input: ListOfAllInput): Promise<readonly Payout[]> {
  return (await payoutsOfAll(pools, input)).map(toPayout)
}

/** Finds a payout of any merchant by its id, for an operator. Returns `undefined` for an unknown id. */
export async function findPayoutOfAll(pools: Pools, id: string): Promise<Payout | undefined> {
  return (await listPayoutsOfAll(pools, { ...ONE_ROW, filters: { id } }))[0]
}

function toPayoutResult(
  row: { verdict: Verdict; identity_id: string | null } & (PayoutColumns | { id: null }),
): PayoutResult {
  return { verdict: row.verdict, identityId: row.identity_id, payout: row.id === null ? undefined : toPayout(row) }
}

function toPayout(row: PayoutColumns): Payout {
  const { id, amount, currency, status, iban, test, created } = row
  return { id, merchantId: row.merchant_id, amount, currency, status, lineId: row.line_id, iban, test, created }
}

/** A merchant that could be paid out. */
export interface PayoutCandidate {
  readonly merchantId: string
  readonly test: boolean
}

const CANDIDATES_MAX = 1_000

/**
 * Returns a page of the merchants with a positive balance, ordered by id, without locks. The SQL function `pay_out` later decides
 * for each merchant whether anything is paid out.
 * @param only the only merchant to return; `undefined` for all merchants
 */
export async function listPayoutCandidates(
  db: Db,
  { after, only }: { readonly after: string; readonly only?: string | undefined },
): Promise<readonly PayoutCandidate[]> {
  const { rows } = await sql<PayoutCandidate>`
    SELECT m.id AS "merchantId", m.test FROM ${sql.table('merchants')} m
    JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = m.id
    WHERE m.id > ${after} AND b.balance > 0 AND (${only ?? null}::text IS NULL OR m.id = ${only ?? null})
    ORDER BY m.id LIMIT ${CANDIDATES_MAX}`.execute(db)
  return rows
}

export type ListedPayout = Pick<Payout, 'id' | 'merchantId' | 'created' | 'amount' | 'currency' | 'status' | 'test'>

/** Returns at most `limit` payouts of all merchants, newest first. If `status` is set, only payouts with that status. */
export async function listAllPayouts(
  db: Db,
  { status, limit }: { readonly status: string | undefined; readonly limit: number },
): Promise<readonly ListedPayout[]> {
  const { rows } = await sql<ListedPayout>`
    SELECT p.id, p.merchant_id AS "merchantId", p.created, p.amount, p.currency, p.status, p.test
    FROM ${sql.table('payouts')} p WHERE ${status ?? null}::text IS NULL OR p.status = ${status ?? null}
    ORDER BY p.created DESC, p.id DESC LIMIT ${limit}`.execute(db)
  return rows
}
