import { type MigrateOptions, migrateAtStart } from '@trestle/database/migrations/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { loginOf } from '@trestle/database/rights/roles.ts'
import { installJobs, QUEUE_VERSION } from '@trestle/jobs/install.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { paymentsFunctions, paymentsMigrations } from '@trestle/migrations/payments.ts'
import type { PaymentsConfig } from './config.ts'
import { invokerFunctions, readOnlyTables, writableColumns } from './table-rules.ts'
import { tasks } from './tasks.ts'
import { VERSION } from './version.ts'

type DatabaseSettings = Pick<PaymentsConfig, 'migrationDatabaseUrl' | 'databaseNamespace' | 'databaseRole'> &
  Partial<Pick<PaymentsConfig, 'databaseUrl' | 'isProduction'>>

/** The names of the service's objects in its database. */
export function paymentsNames({ databaseNamespace }: Pick<PaymentsConfig, 'databaseNamespace'>): Names {
  return createNames('payments', databaseNamespace)
}

/**
 * The steps of `migrate`: migrations and functions, then the schema and queues of jobs, then the grants of the
 * service's role.
 */
export function migrateOptions(config: DatabaseSettings): MigrateOptions {
  const names = paymentsNames(config)
  const { migrationDatabaseUrl: url, databaseRole: role, databaseUrl: serviceUrl } = config
  return {
    url,
    names,
    sources: paymentsMigrations,
    functions: {
      files: paymentsFunctions,
      release: VERSION,
      replacesOwnRelease: !config.isProduction,
      invoker: invokerFunctions,
    },
    settings: {
      serviceVersion: VERSION,
      QUEUE_VERSION,
      tasks,
      role,
      login: serviceUrl && loginOf(serviceUrl),
      readOnlyTables,
      writableColumns,
      invokerFunctions,
    },
    afterwards: [(db) => installJobs(db, { url, schema: names.jobSchema, tasks })],
    grants:
      role === undefined
        ? undefined
        : { role, serviceUrl, appendOnly: [], readOnly: readOnlyTables, columns: writableColumns },
  }
}

/** Brings the database up to date, and answers the names of the migrations that were pending. */
export async function migrateToLatest(config: DatabaseSettings): Promise<readonly string[]> {
  return (await migrateAtStart(migrateOptions(config))).migrations
}
