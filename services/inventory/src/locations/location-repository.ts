import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { violatedConstraint } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import type { InventoryTables } from '../database.ts'
import type { Answer } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import { makeOnce } from '../idempotency/once.ts'
import type { Location } from './location-view.ts'

/** What a location is made of. */
export type NewLocation = Omit<Location, 'id'>

/** What of a location changes; what is undefined stays. */
export type LocationChange = { readonly [Member in keyof NewLocation]?: NewLocation[Member] | undefined }

// Ids are exact as numbers: they stop at the largest integer that a JSON number carries.
const COLUMNS = sql<Location>`id::float8, code, name, active`

const findQuery = prepare(
  'find_location',
  (p: { id: number }) =>
    sql<Location>`SELECT ${COLUMNS} FROM ${sql.table('locations')} WHERE id = ${p.id} AND deleted_at IS NULL`,
)

const listQuery = prepare(
  'list_locations',
  (p: { afterId: number; limit: number }) =>
    sql<Location>`
      SELECT ${COLUMNS} FROM ${sql.table('locations')}
      WHERE id > ${p.afterId} AND deleted_at IS NULL ORDER BY id LIMIT ${p.limit}`,
)

const updateQuery = prepare(
  'update_location',
  (p: LocationChange & { id: number }) =>
    sql<Location>`
      UPDATE ${sql.table('locations')}
      SET code = coalesce(${p.code}, code), name = coalesce(${p.name}, name), active = coalesce(${p.active}, active)
      WHERE id = ${p.id} AND deleted_at IS NULL RETURNING ${COLUMNS}`,
)

const deleteQuery = prepare('delete_location', (p: { id: number }, db: Kysely<InventoryTables>) =>
  db
    .updateTable('locations')
    .set({ deleted_at: sql<Date>`now()` })
    .where('id', '=', sql<bigint>`${p.id}`)
    .where('deleted_at', 'is', null)
    .returning('id'),
)

const CODE_TAKEN = { constraint: 'locations_code_key', verdict: 'duplicate-code' } as const
const HAS_STOCK = { constraint: 'locations_stock_check', verdict: 'has-stock' } as const

/** A location, or undefined. */
export function findLocation(lanes: Lanes, id: number): Promise<Location | undefined> {
  return lanes.read.first(findQuery, { id })
}

/** Locations with an id above `afterId`, by id, at most `limit`. */
export function listLocations(lanes: Lanes, afterId: number, limit: number): Promise<Location[]> {
  return lanes.lagging.all(listQuery, { afterId, limit })
}

/** Adds a location, or says that its code is taken: the unique index decides it alone. */
export function insertLocation(
  { db, names }: { readonly db: Kysely<InventoryTables>; readonly names: Names },
  caller: Caller,
  location: NewLocation,
): Promise<Answer<{ readonly id: number }, never> | 'duplicate-code'> {
  const insert = async (trx: Kysely<InventoryTables>) => {
    const { id } = await trx.insertInto('locations').values(location).returning('id').executeTakeFirstOrThrow()
    return { id: Number(id) }
  }
  return orViolation(names, makeOnce(db, caller, insert), CODE_TAKEN)
}

/** Changes a location. Resolves to it as it is now, or undefined when there is none. */
export function updateLocation(
  { lanes, names }: { readonly lanes: Lanes; readonly names: Names },
  id: number,
  change: LocationChange,
): Promise<Location | undefined | 'duplicate-code'> {
  return orViolation(names, lanes.write.first(updateQuery, { ...change, id }), CODE_TAKEN)
}

/** Deletes a location that has no stock. Resolves to undefined when there is none. */
export function deleteLocation(
  { lanes, names }: { readonly lanes: Lanes; readonly names: Names },
  id: number,
): Promise<{ readonly id: bigint } | undefined | 'has-stock'> {
  return orViolation(names, lanes.write.first(deleteQuery, { id }), HAS_STOCK)
}

/** What a query answers, or a verdict where it has violated a constraint. */
async function orViolation<T, const Verdict extends string>(
  names: Names,
  query: Promise<T>,
  { constraint, verdict }: { readonly constraint: string; readonly verdict: Verdict },
): Promise<T | Verdict> {
  try {
    return await query
  } catch (error) {
    if (violatedConstraint(error, names) !== constraint) throw error
    return verdict
  }
}
