import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import { listLocationCodes } from '../locations/location-repository.ts'
import type { Position } from '../pagination/page.ts'
import type { Level, PlaceNames, ProductStock } from './level.ts'

export interface LevelFilters {
  readonly productId?: number | undefined
  readonly locationId?: number | undefined
  readonly sku?: string | undefined
  /** Only levels with less available than this. */
  readonly below?: number | undefined
}

interface Place {
  readonly productId: number
  readonly locationId: number
}

/** `version` increases with each change of the level. It is 0 for a level that never had stock. */
interface PlaceRow {
  readonly has_product: boolean
  readonly has_location: boolean
  readonly level: Level | null
  readonly version: string
}

/** A level with its version for `ETag`, or the missing object. */
export type FoundLevel =
  | { readonly level: Level; readonly version: string }
  | 'product-not-found'
  | 'location-not-found'

/** The maximum number of levels that the read pool reads, because reads of single rows wait behind them. */
const SHORT_LEVELS = 200

const levelQuery = prepare(
  'find_level',
  (p: Place) => sql<PlaceRow>`
    SELECT p.id IS NOT NULL AS has_product, c.id IS NOT NULL AS has_location,
      CASE WHEN l.product_id IS NOT NULL THEN ${sql.table('level_json')}(l) END AS level,
      coalesce(extract(epoch FROM l.updated_at) * 1000000, 0)::bigint::text AS version
    FROM (SELECT) one
    LEFT JOIN ${sql.table('products')} p ON p.id = ${p.productId} AND p.deleted_at IS NULL
    LEFT JOIN ${sql.table('locations')} c ON c.id = ${p.locationId} AND c.deleted_at IS NULL
    LEFT JOIN ${sql.table('stock_levels')} l ON l.product_id = p.id AND l.location_id = c.id`,
)

const productQuery = prepare('find_product_stock', (p: { productId: number }) =>
  productStatement(p.productId, sql`LIMIT ${sql.lit(SHORT_LEVELS + 1)}`),
)

interface ProductStockRow extends Omit<ProductStock, 'productId'> {
  readonly levels: number
}

function productStatement(productId: number, part: RawBuilder<unknown>): RawBuilder<ProductStockRow> {
  return sql`
    SELECT count(l.product_id)::int AS levels,
      coalesce(sum(l.on_hand), 0)::float8 AS "onHand", coalesce(sum(l.reserved), 0)::float8 AS reserved,
      coalesce(sum(l.on_hand - l.reserved), 0)::float8 AS available,
      coalesce(json_agg(l.level ORDER BY l.location_id) FILTER (WHERE c.id IS NOT NULL), '[]') AS locations
    FROM ${sql.table('products')} p
    LEFT JOIN LATERAL (
      SELECT s.*, ${sql.table('level_json')}(s) AS level FROM ${sql.table('stock_levels')} s WHERE product_id = p.id ${part}
    ) l ON true
    LEFT JOIN ${sql.table('locations')} c ON c.id = l.location_id AND c.deleted_at IS NULL
    WHERE p.id = ${productId} AND p.deleted_at IS NULL
    GROUP BY p.id`
}

/** Returns the level of a product at a location. All quantities are 0 if there was never any stock. */
export async function findLevel(pools: Pools, place: Place): Promise<FoundLevel> {
  const { has_product, has_location, level, version } = await pools.read.one(levelQuery, place)
  if (!has_product) return 'product-not-found'
  if (!has_location) return 'location-not-found'
  return { level: level ?? { ...place, ...NO_STOCK }, version }
}

const NO_STOCK = { onHand: 0, reserved: 0, available: 0, updatedAt: null } as const

/** Returns `undefined` if the product does not exist, and `long` if it has too many levels for the read pool. */
export async function findProductStock(pools: Pools, productId: number): Promise<ProductStock | 'long' | undefined> {
  const row = await pools.read.first(productQuery, { productId })
  if (row === undefined) return undefined
  const { levels, ...stock } = row
  return levels > SHORT_LEVELS ? 'long' : { productId, ...stock }
}

/** Returns the stock of a product with any number of levels, or `undefined`. Does not use the read pool. */
export async function findLongProductStock(db: Db, productId: number): Promise<ProductStock | undefined> {
  const { rows } = await productStatement(productId, sql``).execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  const { levels: _, ...stock } = row
  return { productId, ...stock }
}

/** Returns at most `limit` levels after the position `after`, by product and location. */
export async function listLevels(
  db: Db,
  { productId, locationId, sku, below }: LevelFilters,
  { after, limit }: { readonly after: Position | undefined; readonly limit: number },
): Promise<Level[]> {
  // Use subqueries, because with a join the planner would not use the order of the primary key.
  const conditions = [
    sql`(SELECT p.deleted_at IS NULL FROM ${sql.table('products')} p WHERE p.id = l.product_id)`,
    sql`(SELECT c.deleted_at IS NULL FROM ${sql.table('locations')} c WHERE c.id = l.location_id)`,
    productId !== undefined && sql`l.product_id = ${productId}`,
    locationId !== undefined && sql`l.location_id = ${locationId}`,
    sku !== undefined &&
      sql`l.product_id = (SELECT p.id FROM ${sql.table('products')} p WHERE p.sku = ${sku} AND p.deleted_at IS NULL)`,
    below !== undefined && sql`l.on_hand - l.reserved < ${below}`,
    after && sql`(l.product_id, l.location_id) > (${sql.join(after.map(Number))})`,
  ].filter((condition) => condition !== false && condition !== undefined)
  const { rows } = await sql<{ level: Level }>`
    SELECT ${sql.table('level_json')}(l) AS level
    FROM ${sql.table('stock_levels')} l
    WHERE ${sql.join(conditions, sql` AND `)}
    ORDER BY l.product_id, l.location_id LIMIT ${limit}`.execute(db)
  return rows.map(({ level }) => level)
}

/** Returns at most `limit` ids above `after` of sample products without a level at a location. */
export async function listSampleProductsWithoutLevel(
  db: Db,
  locationId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly number[]> {
  const products = await db
    .selectFrom('products as p')
    .select('p.id')
    .where('p.id', '>', BigInt(after))
    .where('p.sku', 'like', 'SAMPLE-%')
    .where('p.deleted_at', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('stock_levels as l')
            .whereRef('l.product_id', '=', 'p.id')
            .where('l.location_id', '=', BigInt(locationId)),
        ),
      ),
    )
    .orderBy('p.id')
    .limit(sql.lit(limit))
    .execute()
  return products.map(({ id }) => Number(id))
}

export type NamedLevel = Level & PlaceNames

/** Adds names to levels or movements. Deleted products and locations still have their names. */
export async function listNamed<Row extends Place>(db: Db, rows: readonly Row[]): Promise<(Row & PlaceNames)[]> {
  if (rows.length === 0) return []
  const products = await db
    .selectFrom('products')
    .select(['id', 'sku'])
    .where('id', 'in', [...new Set(rows.map(({ productId }) => BigInt(productId)))])
    .execute()
  const codes = await listLocationCodes(
    db,
    rows.map(({ locationId }) => locationId),
  )
  const skus = new Map(products.map(({ id, sku }) => [Number(id), sku]))
  return rows.map((row) => {
    return { ...row, sku: skus.get(row.productId) ?? '', location: codes.get(row.locationId) ?? '' }
  })
}

const [levels, movements, reservations] = ['stock_levels', 'movements', 'reservations'].map((name) => sql.table(name))

/** A query for each invariant of stock. It finds the rows that break the invariant (reference: Stock invariants). */
const FAULTS: Readonly<Record<string, RawBuilder<unknown>>> = {
  'levels that are not the sum of their movements': sql`
    SELECT product_id, location_id FROM ${levels} l FULL JOIN (
      SELECT product_id, location_id, sum(on_hand_delta) AS on_hand, sum(reserved_delta) AS reserved
      FROM ${movements} GROUP BY 1, 2
    ) m USING (product_id, location_id)
    WHERE (coalesce(l.on_hand, 0), coalesce(l.reserved, 0)) <> (coalesce(m.on_hand, 0), coalesce(m.reserved, 0))`,
  'levels below zero, or with more reserved than there is': sql`
    SELECT product_id, location_id FROM ${levels} WHERE on_hand < 0 OR reserved < 0 OR reserved > on_hand`,
  'levels that have not reserved what reservations keep': sql`
    SELECT product_id, location_id FROM ${levels} l FULL JOIN (
      SELECT product_id, location_id, sum(remaining) AS remaining FROM ${reservations} GROUP BY 1, 2
    ) r USING (product_id, location_id)
    WHERE coalesce(l.reserved, 0) <> coalesce(r.remaining, 0)`,
  'movements that do not go on from the one before': sql`
    SELECT id FROM (
      SELECT m.*,
        lag(on_hand_after, 1, 0::bigint) OVER level AS on_hand_before,
        lag(reserved_after, 1, 0::bigint) OVER level AS reserved_before,
        lag(created_at) OVER level AS before
      FROM ${movements} m WINDOW level AS (PARTITION BY product_id, location_id ORDER BY id)
    ) m WHERE on_hand_after <> on_hand_before + on_hand_delta OR reserved_after <> reserved_before + reserved_delta
      OR created_at <= before`,
  'transfers that do not add up': sql`
    SELECT transfer_id FROM ${movements} WHERE transfer_id IS NOT NULL
    GROUP BY transfer_id HAVING sum(on_hand_delta) <> 0 OR count(*) <> 2 OR min(id) <> transfer_id`,
  'reservations that are not what their movements say': sql`
    SELECT r.id FROM ${reservations} r LEFT JOIN ${movements} m ON m.reservation_id = r.id
    GROUP BY r.id HAVING r.remaining IS DISTINCT FROM sum(m.reserved_delta)
      OR r.quantity IS DISTINCT FROM sum(m.reserved_delta) FILTER (WHERE m.type = 'reserve')`,
}

/**
 * Describes every broken invariant of stock. The list is empty if there is none. Reads the whole ledger in one snapshot, so stock
 * may move meanwhile.
 */
export async function findStockFaults(db: Db): Promise<readonly string[]> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await sql`SET LOCAL statement_timeout = 0`.execute(trx)
      const faults: string[] = []
      for (const [fault, rows] of Object.entries(FAULTS)) {
        const { rows: counted } = await sql<{ count: bigint }>`SELECT count(*) FROM (${rows}) f`.execute(trx)
        const count = counted[0]?.count ?? 0n
        if (count > 0n) faults.push(`${count} ${fault}`)
      }
      return faults
    })
}
