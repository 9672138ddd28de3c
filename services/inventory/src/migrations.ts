import type { MigrateOptions } from '@trestle/database/migrations/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { loginOf } from '@trestle/database/rights/roles.ts'
import { inventoryFunctions, inventoryMigrations } from '@trestle/migrations/inventory.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import type { InventoryConfig } from './config.ts'
import { appendOnlyTables } from './database.ts'
import { VERSION } from './version.ts'

/** The identifiers of the service in its database. */
export function inventoryNames(config: Pick<InventoryConfig, 'databaseNamespace'>): Names {
  return createNames('inventory', config.databaseNamespace)
}

/** What `inventory migrate` and the start of the service apply: migrations, functions, and grants to the service's role. */
export function migrateOptions(
  config: Pick<InventoryConfig, 'migrationDatabaseUrl' | 'databaseNamespace' | 'databaseRole'> &
    Partial<Pick<InventoryConfig, 'databaseUrl' | 'isProduction'>>,
): MigrateOptions {
  const names = inventoryNames(config)
  const { databaseRole: role, databaseUrl: serviceUrl } = config
  return {
    url: config.migrationDatabaseUrl,
    names,
    sources: inventoryMigrations,
    functions: { files: inventoryFunctions, release: VERSION, replacesOwnRelease: !config.isProduction },
    settings: { serviceVersion: VERSION, role, login: serviceUrl && loginOf(serviceUrl) },
    grants: role === undefined ? undefined : { role, serviceUrl, appendOnly: appendOnlyTables },
  }
}
