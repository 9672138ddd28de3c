import type { MigrationSources } from './migration.ts'

/** The migrations of the inventory service, in the order in which they run. */
export const inventoryMigrations: MigrationSources = {}
