import type { Pools } from '@trestle/database/pools.ts'
import type { Db } from '../database.ts'
import { getLocationId } from '../locations/location-repository.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import { insertSampleProducts } from '../products/product-repository.ts'
import { refuseStock } from '../stock/level.ts'
import { listSampleProductsWithoutLevel } from '../stock/level-repository.ts'

const BATCH_ROWS = 10_000

/** Adds the missing sample products from SAMPLE-00000001 to SAMPLE-<count>, the same in every run. Resolves to their number. */
export async function seedProducts({ db }: { readonly db: Db }, count: number): Promise<bigint> {
  let added = 0n
  for (let first = 1; first <= count; first += BATCH_ROWS) {
    added += await insertSampleProducts(db, first, Math.min(count, first + BATCH_ROWS - 1))
  }
  return added
}

interface SeedDeps {
  readonly db: Db
  readonly pools: Pools
}

const STOCK_BATCH_ROWS = 100
export const SEED_LOCATION = 'MAIN'

/**
 * Receives stock of each sample product without a level at the location MAIN. Resolves to the number of these products.
 * @throws Error if the location MAIN does not exist or is inactive
 */
export async function seedStock({ db, pools }: SeedDeps, quantity: number): Promise<number> {
  const locationId = await getLocationId(db, SEED_LOCATION)
  const listAfter = (after: number) =>
    listSampleProductsWithoutLevel(db, locationId, { after, limit: STOCK_BATCH_ROWS })
  let stocked = 0
  let ids = await listAfter(0)
  while (ids.length > 0) {
    const lines = ids.map(
      (productId) => ({ type: 'receive', productId, locationId, quantity, reference: 'seed' }) as const,
    )
    const moved = await callMoveStock(pools, { actor: null, idempotentRequest: undefined }, lines)
    if (moved.verdict === 'location-inactive') {
      const advice = `PATCH /locations/${locationId} with {"active":true} changes that`
      throw new Error(`the location ${SEED_LOCATION} is not active, so it takes no stock; ${advice}`)
    }
    if (moved.body === null) refuseStock(moved)
    stocked += ids.length
    ids = await listAfter(ids.at(-1) ?? 0)
  }
  return stocked
}
