import type { MigrateOptions } from '@trestle/database/migrations/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { loginOf } from '@trestle/database/rights/roles.ts'
import { inventoryFunctions, inventoryMigrations } from '@trestle/migrations/inventory.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import type { DatabaseSettings } from '@trestle/service/common-settings.ts'
import { appendOnlyTables } from './database.ts'
import { VERSION } from './version.ts'

interface DatabaseConfig {
  readonly database: Pick<DatabaseSettings, 'migrationUrl' | 'namespace' | 'role'> &
    Partial<Pick<DatabaseSettings, 'url' | 'isProduction'>>
}

/** The identifiers of the service in its database. */
export function inventoryNames({ database }: { readonly database: Pick<DatabaseSettings, 'namespace'> }): Names {
  return createNames('inventory', database.namespace)
}

/** What `inventory migrate` and the start of the service apply: migrations, functions, and grants to the service's role. */
export function migrateOptions(config: DatabaseConfig): MigrateOptions {
  const names = inventoryNames(config)
  const { migrationUrl: url, role, url: serviceUrl, isProduction } = config.database
  return {
    url,
    names,
    sources: inventoryMigrations,
    functions: { files: inventoryFunctions, release: VERSION, replacesOwnRelease: !isProduction },
    settings: { serviceVersion: VERSION, role, login: serviceUrl && loginOf(serviceUrl) },
    grants: role === undefined ? undefined : { role, serviceUrl, appendOnly: appendOnlyTables },
  }
}
