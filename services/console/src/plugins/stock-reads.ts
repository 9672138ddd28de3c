import { z } from 'zod'
import { type Level, PRODUCTS_SHOWN, ProductsView } from '../products/product-view.ts'
import { enveloped, INVENTORY, type OperatorCalls } from '../service-calls/operator-calls.ts'
import { type Location, LocationsView } from '../stock/stock-view.ts'

/** The most locations that forms offer. */
const LOCATIONS_MAX = 500

/** The locations that forms offer, by id. @throws as `OperatorCalls.read` does */
export async function readLocations(calls: OperatorCalls): Promise<readonly Location[]> {
  return (await calls.read('inventory', INVENTORY.locations, LocationsView, { limit: LOCATIONS_MAX })).value
}

/** The product with a SKU. Undefined: there is none. @throws as `OperatorCalls.read` does */
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

/** The stock of a product at a location. It is all zeroes where there was never any. @throws as `OperatorCalls.read` does */
export async function readLevel(
  calls: OperatorCalls,
  productId: number,
  locationId: number,
): Promise<Pick<Level, 'onHand' | 'reserved' | 'available'>> {
  return (await calls.read('inventory', `/stock/${productId}/${locationId}`, LevelView)).value
}
