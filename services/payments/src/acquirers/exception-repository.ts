import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { toStorable } from '../requests/fields.ts'

/** An answer of an acquirer that contradicts the books. It waits for an operator. */
export interface AcquirerException {
  readonly merchantId: string
  /** Identifies the exception when it comes again. */
  readonly reference: string
  /** Without card data. */
  readonly payload: object
  /** The amount that a dispute may take although the books cannot follow it. Without a currency: in that of the merchant. */
  readonly disputed?: { readonly amount: number; readonly currency?: string | undefined } | undefined
}

/** Whether payouts hold money back for an exception of this reference, or an adjustment has booked it. */
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
 * Stores an exception, once for each reference. Payouts hold back what it says is disputed, until it is resolved. One that holds
 * back nothing, also because it is resolved, is replaced by one that does, unless an adjustment has booked it. False when nothing
 * is stored. Characters that jsonb does not accept are replaced: otherwise the operator would never see the exception.
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
