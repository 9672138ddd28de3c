import { numberOption } from '@trestle/common/commands/operator-command.ts'
import { Command } from 'commander'
import type { InventoryConfig } from '../config.ts'
import { openOperatorDatabase } from '../open-database.ts'
import { QUANTITY_MAX } from '../stock/level.ts'
import { SEED_LOCATION, seedProducts, seedStock } from '../use-cases/seed.ts'

const COUNT_MAX = 10_000_000

interface SeedFlags {
  readonly products: number
  readonly stock?: number
}

/** The command `seed`. It adds sample products, and stock for products that have none. */
export function seedCommand(load: () => InventoryConfig, print: (line: string) => void): Command {
  return new Command('seed')
    .exitOverride()
    .description('add sample products for development; a second run adds only the missing ones')
    .addOption(
      numberOption('--products <count>', 'how many products there should be', { max: COUNT_MAX }).makeOptionMandatory(),
    )
    .addOption(
      numberOption('--stock <quantity>', 'receive this quantity of each that has no stock, at the location MAIN', {
        max: QUANTITY_MAX,
      }),
    )
    .action((flags: SeedFlags) => seed(load(), flags, print))
}

async function seed(
  config: InventoryConfig,
  { products, stock }: SeedFlags,
  print: (line: string) => void,
): Promise<void> {
  const database = await openOperatorDatabase(config, 'seed')
  try {
    print(`added ${await seedProducts(database, products)} of ${products} sample products`)
    if (stock === undefined) return
    const stocked = await seedStock(database, stock)
    print(`received ${stock} of each of ${stocked} sample products that had no stock at the location ${SEED_LOCATION}`)
  } finally {
    await database.close()
  }
}
