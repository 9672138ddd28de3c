import type { Database } from '@trestle/database/connect.ts'
import type { InventoryTables } from '../database.ts'
import { getLocationId } from '../locations/location-repository.ts'
import type { MovementLine } from '../movements/movement.ts'
import type { MovedStock } from '../movements/movement-view.ts'
import { getProductId } from '../products/product-repository.ts'
import type { StockMetrics } from '../reservations/stock-metrics.ts'
import type { Level } from '../stock/level-view.ts'
import { moveStock } from './move-stock.ts'

/** What an operator does to the stock of a product at a location. */
export interface StockOrder {
  readonly sku: string
  /** The code of the location. */
  readonly location: string
  /** The line, as far as it names no product and no location. */
  readonly toLine: (place: { readonly productId: number; readonly locationId: number }) => MovementLine
}

/** The movement that was written, and the level after it. */
export interface OperatedStock {
  readonly moved: MovedStock
  readonly level: Level
}

/** Metrics are those of the service: nobody reads the counters of a command. */
const UNCOUNTED: StockMetrics = { countMovement: () => {}, countReservation: () => {} }
/** The actor of movements that a command makes. */
const OPERATOR = 'operator'

/**
 * Moves stock as POST /movements does, for an operator who knows products by their sku and locations by their code.
 * @throws Error when there is no such product or location, and what `moveStock` throws
 */
export async function operateStock(
  { db, lanes }: Pick<Database<InventoryTables>, 'db' | 'lanes'>,
  { sku, location, toLine }: StockOrder,
): Promise<OperatedStock> {
  const productId = await getProductId(db, sku)
  const line = toLine({ productId, locationId: await getLocationId(db, location) })
  const { body } = await moveStock({ lanes, stockMetrics: UNCOUNTED }, { actor: OPERATOR, repeat: undefined }, [line])
  const [level] = body.levels
  if (!level) throw new Error('move_stock answered without a level')
  return { moved: body, level }
}
