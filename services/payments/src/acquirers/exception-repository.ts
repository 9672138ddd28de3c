import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import { listOfAll } from '../pagination/list-of-all.ts'
import type { PageBounds } from '../pagination/page-query.ts'
import { toStorable } from '../requests/fields.ts'

/** An answer of an acquirer that contradicts the books. It waits for an operator. */
export interface AcquirerException {
  readonly merchantId: string
  /** Identifies the exception if the acquirer reports it again. */
  readonly reference: string
  /** Contains no card data. */
  readonly payload: object
  /**
   * The amount that a dispute may take although it could not be booked. If `currency` is `undefined`, the amount is in the
   * merchant's currency.
   */
  readonly disputed?: { readonly amount: number; readonly currency?: string | undefined } | undefined
}

/** Returns whether payouts hold back money for an exception with this reference, or an adjustment has booked the exception. */
export async function isHeldBackOrBooked(
  db: Db,
  { merchantId, reference }: Pick<AcquirerException, 'merchantId' | 'reference'>,
): Promise<boolean> {
  const id = sql`${sql.table('exception_id')}(${toStorable(reference)})`
  const { rows } = await sql<{ found: boolean }>`
    SELECT EXISTS (
      SELECT FROM ${sql.table('acquirer_exceptions')} x
      WHERE x.merchant_id = ${merchantId} AND x.id = ${id} AND x.resolved IS NULL AND x.reserved IS DISTINCT FROM 0
    ) OR EXISTS (
      SELECT FROM ${sql.table('journals')} j
      WHERE j.merchant_id = ${merchantId} AND j.kind = 'adjustment' AND j.cause_id = ${id}
    ) AS found`.execute(db)
  return rows[0]?.found === true
}

/**
 * Stores an exception, once for each reference. Payouts hold back the disputed amount until it is resolved. A stored exception
 * that holds back nothing is replaced by one that does, unless an adjustment has booked it. Returns `false` if nothing is stored.
 * Replaces characters that `jsonb` does not accept, so that the insert does not fail.
 */
export async function callAddException(
  db: Db,
  { merchantId, reference, payload, disputed }: AcquirerException,
): Promise<boolean> {
  const text = JSON.stringify(payload, (_, value: unknown) => (typeof value === 'string' ? toStorable(value) : value))
  const { rows } = await sql<{ isNew: boolean }>`
    SELECT ${sql.table('add_exception')}(
      ${merchantId}, ${toStorable(reference)}, ${text}::jsonb, ${disputed?.amount ?? null}::bigint, ${disputed?.currency ?? null}
    ) AS "isNew"`.execute(db)
  return rows[0]?.isNew === true
}

export async function countOpenExceptions(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('acquirer_exceptions')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('resolved', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

export interface ExceptionForOperator {
  readonly id: string
  readonly merchantId: string
  readonly created: Date
  /** Contains no card data. */
  readonly payload: unknown
  readonly resolved: Date | null
  /** The minor units that payouts hold back until the exception is resolved. `null` means the whole balance. */
  readonly reserved: bigint | null
  /** The currency of the merchant. `null` if the merchant is unknown. Nothing is held back for such an exception. */
  readonly currency: string | null
}

interface PlacedException extends ExceptionForOperator {
  readonly place: string
}

const columns: RawBuilder<unknown> = sql`
  r.id, r.merchant_id AS "merchantId", r.created, r.payload, r.resolved, r.reserved, b.currency`
const join: RawBuilder<unknown> = sql`LEFT JOIN ${sql.table('merchant_balances')} b ON b.merchant_id = r.merchant_id`
/** The id is a digest, so it cannot be sorted by creation time. This cursor begins with the time of creation in milliseconds. */
const place = sql`(lpad(to_hex((extract(epoch FROM r.created) * 1000)::bigint), 12, '0') || left(r.id, 12)) COLLATE "C"`

const exceptions = listOfAll<PlacedException>('all_exceptions', {
  table: 'acquirer_exceptions',
  columns: sql`${columns}, ${place} AS place`,
  join,
  filters: ['merchant_id'],
  flags: { open: sql`r.resolved IS NULL` },
  place,
})

/** Returns exceptions that wait for an operator, oldest first, at most `limit`. */
export async function listOpenExceptions(db: Db, limit: number): Promise<readonly ExceptionForOperator[]> {
  const { rows } = await sql<ExceptionForOperator>`
    SELECT ${columns} FROM ${sql.table('acquirer_exceptions')} r ${join}
    WHERE r.resolved IS NULL ORDER BY r.created, r.id LIMIT ${limit}`.execute(db)
  return rows
}

/** Returns a page of the exceptions of all merchants, for an operator: either the open or the resolved exceptions. */
export function listExceptionsForOperator(
  pools: Pools,
  { merchantId, open, ...page }: PageBounds & { readonly merchantId: string | undefined; readonly open: boolean },
): Promise<readonly PlacedException[]> {
  return exceptions(pools, { ...page, filters: { merchant_id: merchantId }, flags: { open } })
}

const exceptionQuery = prepare(
  'exception_for_operator',
  (p: { merchantId: string; id: string }) => sql<ExceptionForOperator>`
    SELECT ${columns} FROM ${sql.table('acquirer_exceptions')} r ${join}
    WHERE r.merchant_id = ${p.merchantId} AND r.id = ${p.id}`,
)

/** Returns an exception of a merchant, open or resolved, for an operator. Returns `undefined` if it does not exist. */
export function findExceptionForOperator(
  { read }: Pools,
  input: { readonly merchantId: string; readonly id: string },
): Promise<ExceptionForOperator | undefined> {
  return read.first(exceptionQuery, input)
}

/** An exception after it was resolved. `waited` says whether it was open before this call. */
interface ResolvedException {
  readonly exception: ExceptionForOperator
  readonly waited: boolean
}

/** Resolves an exception, if it is open. `undefined` if it does not exist. @param db with the role of operator or owner */
export async function callResolveException(
  db: Db,
  { merchantId, id }: { readonly merchantId: string; readonly id: string },
): Promise<ResolvedException | undefined> {
  const { rows } = await sql<{ waited: boolean } & Omit<ExceptionForOperator, 'id' | 'merchantId'>>`
    SELECT * FROM ${sql.table('resolve_exception')}(${merchantId}, ${id})`.execute(db)
  const [row] = rows
  if (!row) return undefined
  const { waited, ...columnsOfRow } = row
  return { exception: { id, merchantId, ...columnsOfRow }, waited }
}
