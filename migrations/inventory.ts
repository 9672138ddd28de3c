import { createProducts } from './inventory/0001-create-products.ts'
import { createUsers } from './inventory/0002-create-users.ts'
import type { MigrationSources } from './migration.ts'

/** The migrations of the inventory service, in the order in which they run. */
export const inventoryMigrations: MigrationSources = {
  '0001-create-products': createProducts,
  '0002-create-users': createUsers,
}
