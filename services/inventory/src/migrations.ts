import type { MigrateOptions } from '@trestle/database/migrate.ts'
import { loginOf } from '@trestle/database/roles.ts'
import { inventoryMigrations } from '@trestle/migrations/inventory.ts'
import type { InventoryConfig } from './config.ts'
import { inventoryNames } from './deps.ts'
import { appendOnlyTables } from './stock-tables.ts'
import { serviceVersion } from './version.ts'

/** What `inventory migrate` and the run at start work with: the migrations, then the grants to the service's role. */
export function migrateOptions(
  config: Pick<InventoryConfig, 'migrationDatabaseUrl' | 'databaseNamespace' | 'databaseRole'> &
    Partial<Pick<InventoryConfig, 'databaseUrl'>>,
): MigrateOptions {
  const names = inventoryNames(config)
  const { databaseRole: role, databaseUrl: serviceUrl } = config
  return {
    url: config.migrationDatabaseUrl,
    names,
    sources: inventoryMigrations,
    settings: { serviceVersion, role, login: serviceUrl && loginOf(serviceUrl) },
    grants: role === undefined ? undefined : { role, serviceUrl, appendOnly: appendOnlyTables },
  }
}
