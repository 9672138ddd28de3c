import type { InventoryConfig } from '../config.ts'
import { openCommandDatabase } from '../open-database.ts'
import { QUANTITY_MAX } from '../stock/level-view.ts'
import { addSamples, receiveSamples, SAMPLE_LOCATION } from '../use-cases/seed-products.ts'

const COUNT_MAX = 10_000_000

/** Options of the command, as text. */
export interface SeedOptions {
  readonly products: string
  readonly stock?: string | undefined
}

/**
 * Adds sample products, and stock of those that have none.
 * @throws Error when an option is not a number within its bounds, and what `receiveSamples` throws
 */
export async function seed(
  config: InventoryConfig,
  options: SeedOptions,
  print: (line: string) => void,
): Promise<void> {
  const count = readNumber('--products', options.products, COUNT_MAX)
  const quantity = options.stock === undefined ? undefined : readNumber('--stock', options.stock, QUANTITY_MAX)
  const database = openCommandDatabase(config, 'seed')
  try {
    print(`added ${await addSamples(database, count)} of ${count} sample products`)
    if (quantity === undefined) return
    const stocked = await receiveSamples(database, quantity)
    print(
      `received ${quantity} of each of ${stocked} sample products that had no stock at the location ${SAMPLE_LOCATION}`,
    )
  } finally {
    await database.close()
  }
}

function readNumber(option: string, text: string, max: number): number {
  const number = /^\d{1,13}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > max) throw new Error(`${option} must be a number between 1 and ${max}`)
  return number
}
