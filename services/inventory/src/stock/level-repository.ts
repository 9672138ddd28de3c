import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { InventoryTables } from '../database.ts'
import type { Position } from '../paging/cursor.ts'
import type { Level, ProductStock } from './level-view.ts'

/** Which levels: those that meet all of these. */
export interface LevelFilters {
  readonly productId?: number | undefined
  readonly locationId?: number | undefined
  readonly sku?: string | undefined
  /** Less than so much is available. */
  readonly below?: number | undefined
}

interface Place {
  readonly productId: number
  readonly locationId: number
}

/** What is known of a place, where there are such a product and location. `version` grows with each change; 0 before. */
interface PlaceRow {
  readonly has_product: boolean
  readonly has_location: boolean
  readonly level: Level | null
  readonly version: string
}

export type FoundLevel =
  | { readonly verdict: 'found'; readonly level: Level; readonly version: string }
  | { readonly verdict: 'product-not-found' | 'location-not-found' }

/** Levels of a product that the read lane reads. */
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

/** With the number of levels that were looked at. */
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

/** The level of a place, all zero where there was never any stock. */
export async function findLevel(lanes: Lanes, place: Place): Promise<FoundLevel> {
  const { has_product, has_location, level, version } = await lanes.read.one(levelQuery, place)
  if (!has_product) return { verdict: 'product-not-found' }
  if (!has_location) return { verdict: 'location-not-found' }
  return { verdict: 'found', level: level ?? { ...place, ...EMPTY }, version }
}

const EMPTY = { onHand: 0, reserved: 0, available: 0, updatedAt: null } as const

/**
 * What there is of a product, in all locations and in each; undefined when there is no such product. Reads of single rows follow
 * on the connection: where there is too much for them it says so.
 */
export async function findProductStock(lanes: Lanes, productId: number): Promise<ProductStock | 'long' | undefined> {
  const row = await lanes.read.first(productQuery, { productId })
  if (row === undefined) return undefined
  const { levels, ...stock } = row
  return levels > SHORT_LEVELS ? 'long' : { productId, ...stock }
}

/** The same, however much it is. */
export async function findLongProductStock(
  db: Kysely<InventoryTables>,
  productId: number,
): Promise<ProductStock | undefined> {
  const { rows } = await productStatement(productId, sql``).execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  const { levels: _, ...stock } = row
  return { productId, ...stock }
}

/** Levels by product and location, at most `limit`: those behind the position `after`. */
export async function listLevels(
  db: Kysely<InventoryTables>,
  { productId, locationId, sku, below }: LevelFilters,
  { after, limit }: { readonly after: Position | undefined; readonly limit: number },
): Promise<Level[]> {
  // Products and locations are looked up row by row: a join would lead the planner away from the order of the key.
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
