import type { Database } from '@trestle/database/connect.ts'
import type { InventoryTables } from '../database.ts'
import { insertSampleProducts } from '../products/product-repository.ts'

const BATCH_ROWS = 10_000

/**
 * Adds the sample products from SAMPLE-00000001 to SAMPLE-<count> that are missing. They are the same on every run. Resolves
 * to how many were missing.
 */
export async function seedProducts({ db }: Pick<Database<InventoryTables>, 'db'>, count: number): Promise<bigint> {
  let added = 0n
  for (let first = 1; first <= count; first += BATCH_ROWS) {
    added += await insertSampleProducts(db, first, Math.min(count, first + BATCH_ROWS - 1))
  }
  return added
}
