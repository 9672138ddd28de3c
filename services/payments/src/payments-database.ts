import type { Meter } from '@opentelemetry/api'
import { type Database, type DatabaseConfig, openDatabase } from '@trestle/database/connect.ts'
import { isSameDatabase } from '@trestle/database/database-identity.ts'
import { isMigrated } from '@trestle/database/migrations/migrate.ts'
import { loadQuerySpans } from '@trestle/database/query-spans.ts'
import { createJobs, type Jobs, type JobsConfig } from '@trestle/jobs/jobs.ts'
import { observeJobs } from '@trestle/jobs/observe-jobs.ts'
import { observeOutbox } from '@trestle/jobs/observe-outbox.ts'
import { paymentsFunctions, paymentsMigrations } from '@trestle/migrations/payments.ts'
import { observeConnections } from '@trestle/service/observe-connections.ts'
import { standbyOf } from '@trestle/service/standby.ts'
import type { FastifyBaseLogger } from 'fastify'
import { observeAcquiring } from './acquirers/acquirer-tasks.ts'
import type { PaymentsConfig } from './config.ts'
import type { PaymentsTables } from './database.ts'
import { observeLedger } from './ledger/verification.ts'
import { paymentsNames, tasks } from './migrations.ts'
import { observeRates } from './money/rate-repository.ts'
import { createJobKeys } from './vault/vault-keys.ts'

const STATEMENT_TIMEOUT_MS = 5_000
const LOCK_TIMEOUT_MS = 5_000
/** Longer than two waits for locks, so that the lock timeout ends a statement first. */
const WRITE_TIMEOUT_MS = 12_000
/** A statement of an operator may read all rows. */
const OPERATION_TIMEOUT_MS = 3_600_000

/** Opens the database as the role of the service. Connections are made on demand. */
export function openPaymentsDatabase(
  config: PaymentsConfig,
  onConnectionError: (error: Error) => void,
  {
    writeTimeoutMs = WRITE_TIMEOUT_MS,
    ...rest
  }: Partial<Pick<DatabaseConfig, 'writeTimeoutMs' | 'standby' | 'spans'>> = {},
) {
  return openDatabase<PaymentsTables>({
    url: config.databaseUrl,
    names: paymentsNames(config),
    applicationName: 'payments',
    poolSize: config.databasePoolSize,
    role: config.databaseRole,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    writeTimeoutMs,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    prepared: config.databasePrepared,
    ...rest,
    onConnectionError,
  })
}

/**
 * Opens the database for operators, with the login of `migrate`: the login of the service may not call their functions.
 * @throws Error when it is another database than the service's, or when migrations are pending
 */
export async function openOwnersDatabase(config: PaymentsConfig): Promise<Database<PaymentsTables>> {
  const { databaseUrl, migrationDatabaseUrl } = config
  if (databaseUrl !== migrationDatabaseUrl && !(await isSameDatabase(databaseUrl, migrationDatabaseUrl))) {
    throw new Error('PAYMENTS_MIGRATION_DATABASE_URL is another database than PAYMENTS_DATABASE_URL')
  }
  const asOwner = { ...config, databaseUrl: migrationDatabaseUrl, databaseRole: undefined }
  const database = openPaymentsDatabase(asOwner, () => {}, { writeTimeoutMs: OPERATION_TIMEOUT_MS })
  try {
    await expectMigrations(database)
  } catch (error) {
    await database.close()
    throw error
  }
  return database
}

/** A command must not write to tables of an earlier release. @throws Error when migrations are pending */
export async function expectMigrations({ checks, names }: Database<PaymentsTables>): Promise<void> {
  const migrated = await isMigrated(checks, { names, sources: paymentsMigrations, files: paymentsFunctions })
  if (!migrated) throw new Error('migrations are pending: run payments migrate')
}

/** Opens the database of a serving process, with its standby. Traced statements have spans. */
export async function openServingDatabase(
  config: PaymentsConfig,
  logger: FastifyBaseLogger,
): Promise<Database<PaymentsTables>> {
  return openPaymentsDatabase(config, (error) => logger.warn({ err: error }, 'database connection lost'), {
    standby: standbyOf(config.standby, logger),
    spans: await loadQuerySpans(config.tracingEnabled),
  })
}

/** Reports what only the database knows: its connections, work, rates and books. */
export function observeDatabase(meter: Meter, database: Database<PaymentsTables>): void {
  const { db } = database
  const schema = database.names.jobSchema
  observeConnections(meter, database)
  observeAcquiring(meter, { db, schema })
  observeJobs(meter, { db, schema, tasks })
  observeOutbox(meter, { db, writtenAt: 'created' })
  observeRates(meter, db)
  observeLedger(meter, db)
}

/** The job queue of the service. It connects when it is opened. */
export function openPaymentsJobs(
  config: PaymentsConfig,
  { meter, onError, now }: Pick<JobsConfig, 'meter' | 'onError' | 'now'>,
): Jobs {
  return createJobs({
    url: config.databaseUrl,
    schema: paymentsNames(config).jobSchema,
    role: config.databaseRole,
    prepared: config.databasePrepared,
    applicationName: 'payments-jobs',
    sealKeys: createJobKeys(config),
    meter,
    onError,
    now,
  })
}
