import type { Database } from '@trestle/database/connect.ts'
import { type Kysely, sql } from 'kysely'
import type { InventoryConfig } from '../config.ts'
import type { InventoryTables } from '../database.ts'
import { callMoveStock } from '../movements/movement-repository.ts'
import { QUANTITY_MAX } from '../stock/level-view.ts'
import { openForCommand } from './operator-database.ts'

const COUNT_MAX = 10_000_000
const BATCH = 10_000
/** Lines of one request. */
const STOCK_BATCH = 100

/** Options of the command, as text. */
export interface SeedOptions {
  readonly products: string
  readonly stock?: string | undefined
}

/**
 * Adds those of the sample products SAMPLE-00000001 to SAMPLE-<count> that are missing, and stock of those that have none. The
 * sample products are the same on every run.
 * @throws Error when an option is not a number within its bounds
 */
export async function seed(
  config: InventoryConfig,
  options: SeedOptions,
  print: (line: string) => void,
): Promise<void> {
  const count = readNumber('--products', options.products, COUNT_MAX)
  const quantity = options.stock === undefined ? undefined : readNumber('--stock', options.stock, QUANTITY_MAX)
  const database = openForCommand(config, 'seed')
  try {
    let added = 0n
    for (let first = 1; first <= count; first += BATCH) {
      added += await insertSamples(database.db, first, Math.min(count, first + BATCH - 1))
    }
    print(`added ${added} of ${count} sample products`)
    if (quantity !== undefined) print(`received ${quantity} of each of ${await receiveSamples(database, quantity)}`)
  } finally {
    await database.close()
  }
}

function readNumber(option: string, text: string, max: number): number {
  const number = /^\d{1,13}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > max) throw new Error(`${option} must be a number between 1 and ${max}`)
  return number
}

/** Adds those of the sample products `first` to `last` that are missing. Resolves to how many were missing. */
async function insertSamples(db: Kysely<InventoryTables>, first: number, last: number): Promise<bigint> {
  const result = await sql`
    INSERT INTO ${sql.table('products')} (sku, attributes)
    SELECT 'SAMPLE-' || lpad(n::text, 8, '0'), jsonb_build_object(
      'name', 'Sample product ' || n,
      'color', (ARRAY['red', 'green', 'blue', 'black', 'white'])[1 + n % 5],
      'size', n % 1000,
      'price', to_jsonb(round(n % 10007 / 100.0, 2)),
      'tags', jsonb_build_array('sample', 'batch-' || n / 1000))
    FROM generate_series(${first}::integer, ${last}::integer) AS n
    ON CONFLICT (sku) WHERE deleted_at IS NULL DO NOTHING`.execute(db)
  return result.numAffectedRows ?? 0n
}

/**
 * Receives stock of each sample product that has no level at the location MAIN. Resolves to the number of these products.
 * @throws Error when there is no location MAIN, or it takes no stock
 */
async function receiveSamples({ db, lanes }: Database<InventoryTables>, quantity: number): Promise<number> {
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
      .limit(sql.lit(STOCK_BATCH))
      .execute()
    const ids = products.map(({ id }) => Number(id))
    if (ids.length === 0) return stocked
    const lines = ids.map(
      (productId) => ({ type: 'receive', productId, locationId, quantity, reference: 'seed' }) as const,
    )
    const { verdict } = await callMoveStock(lanes, { actor: null, repeat: undefined }, lines)
    if (verdict !== 'done') throw new Error(`the location MAIN takes no stock: ${verdict}`)
    stocked += ids.length
    last = ids.at(-1) ?? last
  }
}
