import { localName, type Names } from '@trestle/migrations/migration.ts'
import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import type { Db } from '../database.ts'
import type { Position } from '../pagination/page.ts'
import type { Level } from '../stock/level.ts'

const Count = z.int().min(0)

/** The counts of products, locations, low stock and open reservations (console reference: Routes of inventory). */
const InventoryCounts = z.object({
  products: Count.meta({ description: 'Live products. Above 100,000 an estimate' }),
  locations: Count.meta({ description: 'Live locations' }),
  lowStock: Count.meta({ description: 'Levels with less available than the limit' }),
  openReservations: Count.meta({ description: 'Reservations that keep stock' }),
})
export type InventoryCounts = z.output<typeof InventoryCounts>

/** The health of the service, and the counts if the database is available. */
export const OverviewView = InventoryCounts.partial()
  .extend({
    health: z
      .object({ database: z.string(), queue: z.string() })
      .meta({ description: 'ok, or a short text of what is wrong' }),
  })
  .meta({ id: 'Overview' })

/** Above this number products are estimated, because counting millions of rows takes seconds. */
const EXACT_MAX = 100_000

/** @param below a level with less available stock is low @throws Error if PostgreSQL returns no row */
export async function countInventory(db: Db, names: Names, below: number): Promise<InventoryCounts> {
  const [products, locations, reservations] = ['products', 'locations', 'reservations'].map((name) => sql.table(name))
  const { rows } = await sql<InventoryCounts>`
    SELECT
      (SELECT CASE WHEN c.reltuples > ${sql.lit(EXACT_MAX)} THEN c.reltuples
          ELSE (SELECT count(*) FROM ${products} WHERE deleted_at IS NULL) END::float8
        FROM pg_catalog.pg_class c
        WHERE c.relnamespace = ${names.schema}::regnamespace AND c.relname = ${localName(names.prefix, 'products_sku_key')})
        AS products,
      (SELECT count(*)::float8 FROM ${locations} WHERE deleted_at IS NULL) AS locations,
      (SELECT count(*)::float8 ${lowLevels(below)}) AS "lowStock",
      (SELECT count(*)::float8 FROM ${reservations} WHERE status = 'active' AND NOT coalesce(expires_at <= now(), false))
        AS "openReservations"`.execute(db)
  const [counts] = rows
  if (counts === undefined) throw new Error('the counts of the inventory returned no row')
  return counts
}

/**
 * Lists levels with less than `below` available, lowest first, at most `limit`, after the position `after` (available, product,
 * location). Reads every level, because an index by available stock would slow down each movement.
 */
export async function listLowLevels(
  db: Db,
  below: number,
  { after, limit }: { readonly after: Position | undefined; readonly limit: number },
): Promise<Level[]> {
  const isLater =
    after && sql`AND (l.on_hand - l.reserved, l.product_id, l.location_id) > (${sql.join(after.map(Number))})`
  const { rows } = await sql<{ level: Level }>`
    SELECT ${sql.table('level_json')}(l) AS level ${lowLevels(below)} ${isLater ?? sql``}
    ORDER BY l.on_hand - l.reserved, l.product_id, l.location_id LIMIT ${limit}`.execute(db)
  return rows.map(({ level }) => level)
}

/** The low levels `l` of live products at live locations. A deleted product keeps its empty level, which does not count. */
function lowLevels(below: number): RawBuilder<unknown> {
  return sql`FROM ${sql.table('stock_levels')} l
    JOIN ${sql.table('products')} p ON p.id = l.product_id AND p.deleted_at IS NULL
    JOIN ${sql.table('locations')} c ON c.id = l.location_id AND c.deleted_at IS NULL
    WHERE l.on_hand - l.reserved < ${below}`
}
