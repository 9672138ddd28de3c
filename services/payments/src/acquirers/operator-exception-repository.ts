import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import { listOfAll } from '../pagination/list-of-all.ts'
import type { PageBounds } from '../pagination/page-query.ts'

export interface OperatedException {
  readonly id: string
  readonly merchantId: string
  readonly created: Date
  /** Without card data. */
  readonly payload: unknown
  readonly resolved: Date | null
  /** Minor units that payouts hold back until it is resolved; null: the whole balance. */
  readonly reserved: bigint | null
  /** The currency of the merchant. Null for an unknown merchant, where nothing is held back. */
  readonly currency: string | null
}

export interface PlacedException extends OperatedException {
  readonly place: string
}

const columns: RawBuilder<unknown> = sql`
  r.id, r.merchant_id AS "merchantId", r.created, r.payload, r.resolved, r.reserved, b.currency`
const join: RawBuilder<unknown> = sql`LEFT JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = r.merchant_id`
/** The id is a digest, and says nothing of the creation. */
const place = sql`(lpad(to_hex((extract(epoch FROM r.created) * 1000)::bigint), 12, '0') || left(r.id, 12)) COLLATE "C"`

const exceptions = listOfAll<PlacedException>('all_exceptions', {
  table: 'acquirer_exceptions',
  columns: sql`${columns}, ${place} AS place`,
  join,
  filters: ['merchant_id'],
  flags: { open: sql`r.resolved IS NULL` },
  place,
})

/** Exceptions that wait for an operator, oldest first, at most `limit`. */
export async function listOpenExceptions(db: Db, limit: number): Promise<readonly OperatedException[]> {
  const { rows } = await sql<OperatedException>`
    SELECT ${columns} FROM ${sql.table('acquirer_exceptions')} r ${join}
    WHERE r.resolved IS NULL ORDER BY r.created, r.id LIMIT ${limit}`.execute(db)
  return rows
}

/** A page of the exceptions of all merchants, for an operator: either open or resolved ones. */
export function listOperatedExceptions(
  pools: Pools,
  { merchantId, open, ...page }: PageBounds & { readonly merchantId: string | undefined; readonly open: boolean },
): Promise<readonly PlacedException[]> {
  return exceptions(pools, { ...page, filters: { merchant_id: merchantId }, flags: { open } })
}

const exceptionQuery = prepare(
  'operated_exception',
  (p: { merchantId: string; id: string }) => sql<OperatedException>`
    SELECT ${columns} FROM ${sql.table('acquirer_exceptions')} r ${join}
    WHERE r.merchant_id = ${p.merchantId} AND r.id = ${p.id}`,
)

/** An exception of a merchant, open or resolved, for an operator. Undefined when there is no such exception. */
export function findOperatedException(
  { read }: Pools,
  input: { readonly merchantId: string; readonly id: string },
): Promise<OperatedException | undefined> {
  return read.first(exceptionQuery, input)
}

/** An exception after it was resolved, and whether it has waited until then. */
export interface ResolvedException {
  readonly exception: OperatedException
  readonly waited: boolean
}

/** Marks an exception as resolved, unless it is already. Undefined when there is none. `db`: as operator or owner. */
export async function callResolveException(
  db: Db,
  { merchantId, id }: { readonly merchantId: string; readonly id: string },
): Promise<ResolvedException | undefined> {
  const { rows } = await sql<{ waited: boolean } & Omit<OperatedException, 'id' | 'merchantId'>>`
    SELECT * FROM ${sql.table('resolve_exception')}(${merchantId}, ${id})`.execute(db)
  const [row] = rows
  if (!row) return undefined
  const { waited, ...columnsOfRow } = row
  return { exception: { id, merchantId, ...columnsOfRow }, waited }
}
