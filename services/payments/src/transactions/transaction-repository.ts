import type { Pools } from '@trestle/database/pools.ts'
import { prepare, routeByTenant } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { type Access, prepareForCaller, verdictColumns } from '../access/access-query.ts'
import type { Credentials } from '../access/caller.ts'
import { type BelowSource, findBelowMerchant, rowBelow, rowOf } from '../access/read-below-merchant.ts'
import type { AccessResult, Verdict } from '../access/verdict.ts'
import type { Db } from '../database.ts'
import { listTenants } from '../merchants/each-merchant.ts'
import { type BelowListInput, listBelowMerchant, readBelow } from '../pagination/list-below-merchant.ts'
import type { Chunk, InTurn, PageBounds } from '../pagination/page-query.ts'
import type { OperationKind, Transaction } from './transaction.ts'
import { type TransactionColumns, toTransaction, trailUntil, transactionColumns } from './transaction-columns.ts'

/** Returns the source of transactions. It reads only trails whose length satisfies the condition `lengths`. */
const sourceWith = (lengths: RawBuilder<unknown>): Required<BelowSource> => ({
  table: 'transactions',
  columns: () => sql`r.trail_length, ${transactionColumns({ transaction: 'r', amounts: 'r', instrument: 'n' })}`,
  join: (merchantId) => sql`
    ${joinInstrument(merchantId)}
    LEFT JOIN LATERAL (SELECT CASE WHEN r.trail_length ${lengths} THEN (${wholeTrail(merchantId)}) END AS trail) e ON true`,
})

function joinInstrument(merchantId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`LEFT JOIN ${sql.table('instruments')} n ON n.merchant_id = ${merchantId} AND n.id = r.instrument_id`
}

function wholeTrail(merchantId: RawBuilder<unknown>): RawBuilder<unknown> {
  return trailUntil(merchantId, { transactionId: sql`r.id`, length: sql`r.trail_length` })
}

type FoundColumns = TransactionColumns & { trail_length: number }

/** A trail with up to this many entries is read without waiting for slots. */
const SHORT_TRAIL_ENTRIES = 30
const source = sourceWith(sql`> 0`)
const readQuery = findBelowMerchant<FoundColumns>(
  'read_transaction',
  sourceWith(sql`BETWEEN 1 AND ${sql.lit(SHORT_TRAIL_ENTRIES)}`),
)
const readLongQuery = findBelowMerchant<FoundColumns>('read_long_transaction', source)

/**
 * Reads a transaction by its id, for a member of its merchant. The verdict is `not-found` if the id is unknown, and `forbidden`
 * if the caller is not a member. Both verdicts come without the transaction. Reading a long trail waits for slots.
 */
export async function readTransaction(
  pools: Pools,
  input: Credentials & { readonly id: string },
  withSlots: InTurn,
): Promise<AccessResult & { readonly transaction: Transaction | undefined }> {
  let row = await pools.read.one(readQuery, input)
  if (row.id !== null && row.trail_length > SHORT_TRAIL_ENTRIES) {
    row = await withSlots(row.trail_length, () => pools.read.one(readLongQuery, input))
  }
  const { verdict, identity_id: identityId } = row
  return { verdict, identityId, transaction: row.id === null ? undefined : toTransaction(row) }
}

/** The filters of a merchant's list of transactions. A field that is `undefined` does not filter. */
export interface TransactionListInput extends BelowListInput {
  readonly successful: boolean | undefined
  readonly recurring: boolean | undefined
  readonly currency: string | undefined
}

const transactionsOfMerchant = listBelowMerchant<TransactionListInput, TransactionColumns>(
  'list_transactions',
  { ...source, entries: sql`r.trail_length` },
  (p) => sql`(${p.successful}::boolean IS NULL OR r.successful = ${p.successful}::boolean)
    AND (${p.recurring}::boolean IS NULL OR r.recurring = ${p.recurring}::boolean)
    AND (${p.currency}::text IS NULL OR r.currency = ${p.currency}::text)`,
)

/** A page of a merchant's transactions, or a part of it, for a member. At most `limit`, by id in the order of `input`. */
export async function listTransactions(
  pools: Pools,
  input: TransactionListInput & Pick<PageBounds, 'order'>,
): Promise<AccessResult & Chunk<Transaction>> {
  const { rows, ...rest } = await readBelow(pools, transactionsOfMerchant, input)
  return { ...rest, rows: rows.map(toTransaction) }
}

/** The filters of an operator's list of transactions. A field that is `undefined` does not filter. */
export interface AllTransactionsFilter {
  readonly merchantId: string | undefined
  readonly successful: boolean | undefined
  /** Only transactions with a lower id than this are listed. */
  readonly before: string | undefined
  readonly limit: number
}

/** Returns the newest transactions of all merchants, newest first. */
export async function listAllTransactions(
  db: Db,
  { merchantId, successful, before, limit }: AllTransactionsFilter,
): Promise<readonly Transaction[]> {
  const own = sql`r.merchant_id`
  // Use one statement for any number of merchants. The subquery selects the page first, so that each node of a distributed
  // database reads only rows of the page. A subquery without a table, as in `source`, is not allowed there for several merchants.
  const { rows } = await sql<TransactionColumns>`
    SELECT ${source.columns(own)} FROM ${sql.table('transactions')} r ${joinInstrument(own)}
    LEFT JOIN LATERAL (${wholeTrail(own)}) e ON true
    WHERE (r.merchant_id, r.id) IN (
      SELECT t.merchant_id, t.id FROM ${sql.table('transactions')} t
      WHERE (${merchantId ?? null}::text IS NULL OR t.merchant_id = ${merchantId ?? null})
        AND (${successful ?? null}::boolean IS NULL OR t.successful = ${successful ?? null})
        AND (${before ?? null}::text IS NULL OR t.id < ${before ?? null})
      ORDER BY t.id DESC LIMIT ${limit}
    )
    ORDER BY r.id DESC`.execute(db)
  return rows.map(toTransaction)
}

/** Returns a transaction by its id, for an operator, or `undefined` if the id is unknown. */
export async function findTransaction(db: Db, id: string): Promise<Transaction | undefined> {
  for (const tenant of await listTenants(db, id)) {
    const merchantId = sql`${tenant}`
    const { rows } = await sql<TransactionColumns>`
      SELECT ${source.columns(merchantId)} FROM ${sql.table('transactions')} r ${source.join(merchantId)}
      WHERE r.merchant_id = ${merchantId} AND r.id = ${id}`.execute(db)
    if (rows[0]) return toTransaction(rows[0])
  }
  return undefined
}

export interface TransactionTenant {
  readonly merchantId: string
  readonly currency: string
}

const selectTenant = (row: RawBuilder<unknown>) =>
  sql<TransactionTenant>`SELECT r.merchant_id AS "merchantId", r.currency FROM (${row}) r`

const tenantQuery = routeByTenant(
  prepare('find_transaction_tenant', (p: { id: string }) => selectTenant(rowBelow('transactions', p.id))),
  ({ id }, find) => find(id),
  (p) => selectTenant(rowOf('transactions', sql`${p.tenant}`, p.id)),
)

const attemptTenantQuery = routeByTenant(
  prepare(
    'find_attempt_tenant',
    (p: { id: string }) => sql<{ merchantId: string }>`
    SELECT r.merchant_id AS "merchantId" FROM (${rowBelow('attempts', p.id)}) r`,
  ),
  ({ id }, find) => find(id),
  (p) => sql`SELECT r.merchant_id AS "merchantId" FROM (${rowOf('attempts', sql`${p.tenant}`, p.id)}) r`,
)

/** Returns the merchant of an attempt, for any caller, or `undefined` if the id is unknown. */
export function findAttemptTenant({ read }: Pools, id: string): Promise<{ readonly merchantId: string } | undefined> {
  return read.first(attemptTenantQuery, { id })
}

/** Returns the merchant and the currency of a transaction, for any caller, or `undefined` if the id is unknown. */
export function findTransactionTenant({ read }: Pools, id: string): Promise<TransactionTenant | undefined> {
  return read.first(tenantQuery, { id })
}

export interface OperationAccess extends Credentials {
  readonly transactionId: string
  readonly kind: OperationKind
}

const judge = ({ fromCaller, joinMembership }: Access, p: OperationAccess, row: RawBuilder<unknown>) => sql<{
  verdict: Verdict
  identity_id: string | null
}>`
    SELECT ${verdictColumns(sql`t.merchant_id`)}
    ${fromCaller}
    LEFT JOIN LATERAL (${row}) t ON true
    LEFT JOIN ${sql.table('merchants')} m
      ON m.id = t.merchant_id AND (m.claim ->> ('can' || initcap(${p.kind})))::boolean
    ${joinMembership(sql`m.id`)}`

const judgeQuery = prepareForCaller(
  'judge_operation',
  (access, p: OperationAccess) => judge(access, p, rowBelow('transactions', p.transactionId)),
  {
    ownerOf: ({ transactionId }, find) => find(transactionId),
    build: (access, p, tenant) => judge(access, p, rowOf('transactions', tenant, p.transactionId)),
  },
)

/** Checks the access of a caller to an operation, for a request whose body was refused. */
export async function readOperationAccess(pools: Pools, access: OperationAccess): Promise<AccessResult> {
  const { verdict, identity_id } = await pools.read.one(judgeQuery, access)
  return { verdict, identityId: identity_id }
}

/** The number of transactions that one call reads. A larger batch would hold the lock of the merchant for too long. */
const EXPIRY_BATCH_ROWS = 100

interface ExpireAuthorizationsCall {
  readonly merchantId: string
  readonly days: number
  readonly limit: number
}

const expireQuery = prepare(
  'expire_authorizations',
  (p: ExpireAuthorizationsCall) => sql<{ lookedAt: number; voided: number }>`
    SELECT looked_at AS "lookedAt", voided
    FROM ${sql.table('expire_authorizations')}(${p.merchantId}, ${p.days}, ${p.limit})`,
)

/**
 * Voids the remaining amounts of a merchant's oldest authorizations, at most `limit` of them. Returns the number of
 * authorizations that were read and the number that were voided.
 */
export function callExpireAuthorizations(
  pools: Pools,
  input: ExpireAuthorizationsCall,
): Promise<{ readonly lookedAt: number; readonly voided: number }> {
  return pools.write.one(expireQuery, input)
}

/**
 * Voids the remaining amounts of a merchant's authorizations that are older than `days`. If `days` is 0, voids nothing. Each
 * transaction is read once, and again only if a part of it becomes pending again (reference: Expiry of authorizations).
 */
export async function callExpireInBatches(
  pools: Pools,
  { merchantId, days, batches }: { readonly merchantId: string; readonly days: number; readonly batches: number },
): Promise<void> {
  if (days === 0) return
  for (let batch = 0; batch < batches; batch++) {
    const { lookedAt } = await callExpireAuthorizations(pools, { merchantId, days, limit: EXPIRY_BATCH_ROWS })
    if (lookedAt < EXPIRY_BATCH_ROWS) return
  }
}
