import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { violatedConstraint } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Answer, Caller } from '../idempotency/idempotent-request.ts'
import { runOnce } from '../idempotency/key-repository.ts'
import type { LocationChange, LocationRefusal, LocationTarget, NewLocation, VersionedLocation } from './location.ts'

// Ids are exact as JavaScript numbers, because their sequence ends at the largest safe integer.
const COLUMNS = sql<VersionedLocation>`id::float8, code, name, active, version`

const findQuery = prepare(
  'find_location',
  (p: { id: number }) =>
    sql<VersionedLocation>`SELECT ${COLUMNS} FROM ${sql.table('locations')} WHERE id = ${p.id} AND deleted_at IS NULL`,
)

const listQuery = prepare(
  'list_locations',
  (p: { afterId: number; limit: number }) =>
    sql<VersionedLocation>`
      SELECT ${COLUMNS} FROM ${sql.table('locations')}
      WHERE id > ${p.afterId} AND deleted_at IS NULL ORDER BY id LIMIT ${p.limit}`,
)

const byCodeQuery = prepare(
  'find_location_by_code',
  (p: { code: string; afterId: number }) =>
    sql<VersionedLocation>`
      SELECT ${COLUMNS} FROM ${sql.table('locations')}
      WHERE code = ${p.code} AND id > ${p.afterId} AND deleted_at IS NULL`,
)

type ChangedLocationRow =
  | { readonly verdict: LocationRefusal }
  | ({ readonly verdict: 'done' } & Omit<VersionedLocation, 'id'>)

const changeQuery = prepare(
  'change_location',
  (p: LocationTarget & LocationChange) =>
    sql<ChangedLocationRow>`SELECT * FROM ${sql.table('change_location')}(
      ${p.id}::bigint, ${p.versions}::integer[], ${p.code}, ${p.name}, ${p.active})`,
)

const deleteQuery = prepare(
  'delete_location',
  (p: LocationTarget) =>
    sql<{ readonly verdict: LocationRefusal | 'done' }>`
      SELECT * FROM ${sql.table('delete_location')}(${p.id}::bigint, ${p.versions}::integer[])`,
)

const CODE_TAKEN = { constraint: 'locations_code_key', verdict: 'duplicate-code' } as const
const HAS_STOCK = { constraint: 'locations_stock_check', verdict: 'has-stock' } as const

/** Finds an active or inactive location. Returns `undefined` if it does not exist. */
export function findLocation(pools: Pools, id: number): Promise<VersionedLocation | undefined> {
  return pools.read.first(findQuery, { id })
}

const CODES_MAX = 10

/** @throws Error with the existing codes if the location does not exist */
export async function getLocationId(db: Db, code: string): Promise<number> {
  const row = await db
    .selectFrom('locations')
    .select('id')
    .where('code', '=', code)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (row) return Number(row.id)
  const codes = await listCodes(db, CODES_MAX + 1)
  if (codes.length === 0)
    throw new Error(`there is no location ${code}, nor any other; inventory locations create makes one`)
  throw new Error(`there is no location ${code}; there are ${joinCodes(codes)}`)
}

/** @throws Error with the existing codes if there is not exactly one location */
export async function getOnlyCode(db: Db): Promise<string> {
  const codes = await listCodes(db, CODES_MAX + 1)
  const [only] = codes
  if (only === undefined) throw new Error('there is no location; inventory locations create makes one')
  if (codes.length > 1) throw new Error(`name the location by --location; there are ${joinCodes(codes)}`)
  return only
}

function joinCodes(codes: readonly string[]): string {
  return `${codes.slice(0, CODES_MAX).join(', ')}${codes.length > CODES_MAX ? ' and more' : ''}`
}

async function listCodes(db: Db, limit: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('locations')
    .select('code')
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ code }) => code)
}

/** The codes of locations by id, including deleted locations. */
export async function listLocationCodes(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('locations')
    .select(['id', 'code'])
    .where('id', 'in', [...new Set(ids)].map(BigInt))
    .execute()
  return new Map(rows.map(({ id, code }) => [Number(id), code]))
}

/** Locations with an id above `afterId`, by id, at most `limit`. With a code, only the location with this code. */
export function listLocations(
  pools: Pools,
  { code }: { readonly code?: string | undefined },
  { afterId, limit }: { readonly afterId: number; readonly limit: number },
): Promise<VersionedLocation[]> {
  if (code !== undefined) return pools.lagging.all(byCodeQuery, { code, afterId })
  return pools.lagging.all(listQuery, { afterId, limit })
}

/** Only the unique index determines whether the code is taken. */
export function insertLocation(
  { db, names }: { readonly db: Db; readonly names: Names },
  caller: Caller,
  location: NewLocation,
): Promise<Answer<{ readonly id: number }, never> | 'duplicate-code'> {
  const insert = async (connection: Db) => {
    const { id } = await connection.insertInto('locations').values(location).returning('id').executeTakeFirstOrThrow()
    return { id: Number(id) }
  }
  return catchViolation(names, runOnce(db, caller, insert), CODE_TAKEN)
}

interface WriteDeps {
  readonly pools: Pools
  readonly names: Names
}

/** Compares the version while the row is locked. */
export async function callChangeLocation(
  { pools, names }: WriteDeps,
  target: LocationTarget,
  change: LocationChange,
): Promise<VersionedLocation | LocationRefusal | 'duplicate-code'> {
  const row = await catchViolation(names, pools.write.one(changeQuery, { ...change, ...target }), CODE_TAKEN)
  if (row === 'duplicate-code') return row
  if (row.verdict !== 'done') return row.verdict
  const { code, name, active, version } = row
  return { id: target.id, code, name, active, version }
}

/** `has-stock`: the location is kept. `stale`: its version differs from the expected versions. */
export async function callDeleteLocation(
  { pools, names }: WriteDeps,
  target: LocationTarget,
): Promise<LocationRefusal | 'done' | 'has-stock'> {
  const row = await catchViolation(names, pools.write.one(deleteQuery, target), HAS_STOCK)
  return row === 'has-stock' ? row : row.verdict
}

/** The result of a query, or `verdict` if it violated the constraint. */
async function catchViolation<T, const Verdict extends string>(
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
