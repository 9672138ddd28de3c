import type { MigrateOptions } from '@trestle/database/migrations/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { loginOf } from '@trestle/database/rights/roles.ts'
import { installJobs, QUEUE_VERSION } from '@trestle/jobs/install.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'
import { inventoryFunctions, inventoryMigrations } from '@trestle/migrations/inventory.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import type { DatabaseSettings } from '@trestle/service/database-settings.ts'
import { appendOnlyTables, readOnlyTables, undeletableTables } from './database.ts'
import { importTask } from './imports/import-job.ts'
import { VERSION } from './version.ts'

/** All tasks of jobs. `migrate` creates a queue for each task. */
export const tasks: readonly AnyTask[] = [importTask]

interface DatabaseConfig {
  readonly database: Pick<DatabaseSettings, 'migrationUrl' | 'namespace' | 'role'> &
    Partial<Pick<DatabaseSettings, 'url' | 'isProduction'>>
}

/** The identifiers of the service in its database. */
export function inventoryNames({ database }: { readonly database: Pick<DatabaseSettings, 'namespace'> }): Names {
  return createNames('inventory', database.namespace)
}

const tableRights = { appendOnly: appendOnlyTables, readOnly: readOnlyTables, undeletable: undeletableTables }

/**
 * Returns the options of `inventory migrate` and of the start. These run the migrations and functions, create the schema and
 * queues of jobs, then grant the rights of the service's role.
 */
export function migrateOptions(config: DatabaseConfig): MigrateOptions {
  const names = inventoryNames(config)
  const { migrationUrl: url, role, url: serviceUrl, isProduction } = config.database
  return {
    url,
    names,
    sources: inventoryMigrations,
    functions: { files: inventoryFunctions, release: VERSION, replacesOwnRelease: !isProduction },
    settings: { serviceVersion: VERSION, QUEUE_VERSION, tasks, role, login: serviceUrl && loginOf(serviceUrl) },
    afterwards: [(db) => installJobs(db, { url, schema: names.jobSchema, tasks })],
    grants: role === undefined ? undefined : { role, serviceUrl, ...tableRights },
  }
}
