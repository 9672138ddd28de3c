import { z } from 'zod'
import { type Level, PRODUCTS_SHOWN, ProductsView } from '../products/product-view.ts'
import { enveloped, INVENTORY, type OperatorCalls } from '../service-calls/operator-calls.ts'
import { type Location, LocationsView } from '../stock/stock-view.ts'

const LOCATIONS_MAX = 500

/** The locations in forms, by id. */
export async function readLocations(calls: OperatorCalls): Promise<readonly Location[]> {
  return (await calls.read('inventory', INVENTORY.locations, LocationsView, { limit: LOCATIONS_MAX })).value
}

/** Undefined: there is no such product. */
export async function findProduct(
  calls: OperatorCalls,
  sku: string,
): Promise<{ readonly id: number; readonly sku: string } | undefined> {
  const { value } = await calls.read('inventory', INVENTORY.products, ProductsView, {
    ...PRODUCTS_SHOWN,
    sku,
    limit: 1,
  })
  return value[0]
}

const LevelView = enveloped(z.looseObject({ onHand: z.int(), reserved: z.int(), available: z.int() }))

/** All zeroes if there was never any stock. */
export async function readLevel(
  calls: OperatorCalls,
  productId: number,
  locationId: number,
): Promise<Pick<Level, 'onHand' | 'reserved' | 'available'>> {
  return (await calls.read('inventory', `/stock/${productId}/${locationId}`, LevelView)).value
}
