import type { Database } from '@trestle/database/connect.ts'
import { sql } from 'kysely'
import type { InventoryTables } from '../database.ts'
import { callMoveStock } from '../movements/move-repository.ts'

const BATCH = 100

/**
 * Receives so many pieces of each sample product that was never stocked in the main warehouse. Resolves to how many products
 * these were.
 * @throws Error when there is no location MAIN, or it takes no stock
 */
export async function receiveSamples({ db, lanes }: Database<InventoryTables>, quantity: number): Promise<number> {
  const main = await db
    .selectFrom('locations')
    .select('id')
    .where('code', '=', 'MAIN')
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  if (!main) throw new Error('there is no location MAIN')
  const locationId = Number(main.id)
  for (let [stocked, last] = [0, 0]; ; ) {
    const products = await db
      .selectFrom('products as p')
      .select('p.id')
      .where('p.id', '>', BigInt(last))
      .where('p.sku', 'like', 'SAMPLE-%')
      .where('p.deleted_at', 'is', null)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('stock_levels as l').whereRef('l.product_id', '=', 'p.id').where('l.location_id', '=', main.id),
          ),
        ),
      )
      .orderBy('p.id')
      .limit(sql.lit(BATCH))
      .execute()
    const ids = products.map(({ id }) => Number(id))
    if (ids.length === 0) return stocked
    const lines = ids.map(
      (productId) => ({ type: 'receive', productId, locationId, quantity, reference: 'seed' }) as const,
    )
    const { verdict } = await callMoveStock(lanes, { actor: null, repeat: undefined }, lines)
    if (verdict !== 'done') throw new Error(`the main warehouse takes no stock: ${verdict}`)
    stocked += ids.length
    last = ids.at(-1) ?? last
  }
}
