import type { Database } from '@trestle/database/connect.ts'
import type { InventoryTables } from '../database.ts'
import { getLocationId } from '../locations/location-repository.ts'
import type { MovementLine } from '../movements/movement.ts'
import type { MovedStock } from '../movements/movement-view.ts'
import { getProductId } from '../products/product-repository.ts'
import type { StockMetrics } from '../reservations/stock-metrics.ts'
import type { NamedLevel } from '../stock/level-repository.ts'
import { moveStock } from './move-stock.ts'

/** A movement of the stock of one product, as an operator orders it by SKU and codes of locations. */
export interface MoveStockByNameInput {
  readonly sku: string
  /** The codes of the locations: one, or for a transfer where stock leaves and where it arrives. */
  readonly locations: readonly string[]
  /** The line, as far as it names no product and no location. */
  readonly toLine: (place: StockPlace) => MovementLine
}

/** Ids in place of names, the locations in the order of the codes. */
export interface StockPlace {
  readonly productId: number
  readonly locationIds: readonly number[]
}

/** The movement that was written, and the level of each location after it, in the order of the codes. */
export interface StockMovedByName {
  readonly moved: MovedStock
  readonly levels: readonly NamedLevel[]
}

/** Only the service has metrics: nobody reads the counters of a command. */
const UNCOUNTED: StockMetrics = { countMovement: () => {}, countReservation: () => {} }
/** The actor of movements that a command makes. */
const OPERATOR = 'operator'

/**
 * Moves stock as POST /movements does, for an operator who knows products by their sku and locations by their code.
 * @throws Error when there is no such product or location, and as `moveStock` says productNotFound, locationNotFound,
 * locationInactive, insufficientStock, countBelowReserved, staleQuantity, quantityAboveLimit
 */
export async function moveStockByName(
  { db, lanes }: Pick<Database<InventoryTables>, 'db' | 'lanes'>,
  { sku, locations, toLine }: MoveStockByNameInput,
): Promise<StockMovedByName> {
  const productId = await getProductId(db, sku)
  const locationIds: number[] = []
  for (const code of locations) locationIds.push(await getLocationId(db, code))
  const line = toLine({ productId, locationIds })
  const { body } = await moveStock(
    { lanes, stockMetrics: UNCOUNTED },
    { caller: { actor: OPERATOR, repeat: undefined }, lines: [line] },
  )
  const levels = locations.flatMap((location, at) => {
    const level = body.levels.find(({ locationId }) => locationId === locationIds[at])
    return level === undefined ? [] : [{ ...level, sku, location }]
  })
  return { moved: body, levels }
}
