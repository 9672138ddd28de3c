import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { toStorable } from '../bodies/fields.ts'
import type { PaymentsTables } from '../database.ts'

type Db = Kysely<PaymentsTables>

/** What an acquirer did or said that our books could not follow: an operator decides. */
export interface AcquirerException {
  readonly merchantId: string
  /** What makes it one and the same when it comes again. */
  readonly reference: string
  /** Never card data. */
  readonly payload: object
}

/**
 * Keeps an exception, once for each reference. False when it is there already. Texts that jsonb does not take are made
 * storable: what nobody can store nobody would hear of.
 */
export async function insertException(db: Db, { merchantId, reference, payload }: AcquirerException): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('acquirer_exceptions')
    .values({
      merchant_id: merchantId,
      id: createHash('sha256').update(reference).digest('hex').slice(0, 24),
      payload: JSON.stringify(payload, (_, value: unknown) => (typeof value === 'string' ? toStorable(value) : value)),
      created: sql<Date>`now()`,
      resolved: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** An exception as an operator's list shows it. */
export interface ListedException {
  readonly id: string
  readonly merchantId: string
  readonly created: Date
  readonly payload: unknown
}

/** Exceptions that wait for an operator, oldest first. */
export async function listOpenExceptions(db: Db, limit: number): Promise<readonly ListedException[]> {
  return db
    .selectFrom('acquirer_exceptions')
    .select(['id', 'merchant_id as merchantId', 'created', 'payload'])
    .where('resolved', 'is', null)
    .orderBy('created')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** How many wait. */
export async function countOpenExceptions(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('acquirer_exceptions')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('resolved', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

/** Notes that an operator has dealt with one. False when there is none that waits. */
export async function updateExceptionResolved(db: Db, merchantId: string, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('acquirer_exceptions')
    .set({ resolved: sql<Date>`now()` })
    .where('merchant_id', '=', merchantId)
    .where('id', '=', id)
    .where('resolved', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
