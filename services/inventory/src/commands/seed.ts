import { type Kysely, sql } from 'kysely'
import type { InventoryConfig } from '../config.ts'
import type { InventoryTables } from '../database.ts'
import { QUANTITY_MAX } from '../stock/level.ts'
import { receiveSamples } from '../stock/sample-stock.ts'
import { openForCommand } from './operator-database.ts'

const COUNT_MAX = 10_000_000
const BATCH = 10_000

/** Options of the command, as text. */
export interface SeedOptions {
  readonly products: string
  readonly stock?: string | undefined
}

/**
 * Adds the sample products SAMPLE-00000001 to SAMPLE-<count>: always the same, whichever are missing; and stock of those that
 * have none.
 * @throws Error when an option is no number within its bounds
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

/** Adds the sample products `first` to `last`, and returns how many were missing. */
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
