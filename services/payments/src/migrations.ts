import { type MigrateOptions, migrateUp } from '@trestle/database/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { grantToRole } from '@trestle/database/roles.ts'
import { installJobs } from '@trestle/jobs/install.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { paymentsMigrations } from '@trestle/migrations/payments.ts'
import type { PaymentsConfig } from './config.ts'
import { appendOnlyTables } from './database.ts'
import { tasks } from './tasks.ts'

type DatabaseSettings = Pick<PaymentsConfig, 'migrationDatabaseUrl' | 'databaseNamespace' | 'databaseRole'> &
  Partial<Pick<PaymentsConfig, 'databaseUrl'>>

/** The identifiers of the service in its database. */
export function paymentsNames({ databaseNamespace }: Pick<PaymentsConfig, 'databaseNamespace'>): Names {
  return createNames('payments', databaseNamespace)
}

/** What `migrate` runs: the migrations, then the job queue's schema and queues, then the grants of the service's role. */
export function migrateOptions(config: DatabaseSettings): MigrateOptions {
  const names = paymentsNames(config)
  const { migrationDatabaseUrl: url, databaseRole: role, databaseUrl: serviceUrl } = config
  return {
    url,
    names,
    sources: paymentsMigrations,
    afterwards: [
      () => installJobs({ url, schema: names.jobSchema, tasks }),
      async (db) => {
        if (role !== undefined) await grantToRole(db, { names, role, serviceUrl, appendOnly: appendOnlyTables })
      },
    ],
  }
}

/** Brings the database up to date; answers the names of the migrations that were pending. */
export async function migrateToLatest(config: DatabaseSettings): Promise<readonly string[]> {
  return (await migrateUp(migrateOptions(config))).migrations
}
