import { setTimeout as pause } from 'node:timers/promises'
import { createReadiness, type Readiness } from '@trestle/common/lifecycle/readiness.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { type Database, openDatabase } from '@trestle/database/connect.ts'
import { isMigrated } from '@trestle/database/migrations/migrate.ts'
import type { DatabaseConfig } from '@trestle/database/open-server.ts'
import { loadQuerySpans } from '@trestle/database/pools.ts'
import { isDatabaseUnavailable } from '@trestle/database/unavailable.ts'
import { createJobs, type Jobs, type JobsConfig } from '@trestle/jobs/jobs.ts'
import { paymentsFunctions, paymentsMigrations } from '@trestle/migrations/payments.ts'
import { standbyOf } from '@trestle/service/observe-connections.ts'
import { sql } from 'kysely'
import type { PaymentsConfig } from './config.ts'
import type { PaymentsTables } from './database.ts'
import { paymentsNames } from './migrations.ts'
import { readAgain } from './placement/tenants.ts'
import { createJobKeys } from './vault/vault-keys.ts'

const STATEMENT_TIMEOUT_MS = 5_000
export const LOCK_TIMEOUT_MS = 5_000
/** The timeout of a write, in milliseconds. It exceeds two lock waits, so the lock timeout ends a statement first. */
const WRITE_TIMEOUT_MS = 12_000

/** The `application_name` of the database connections of a process. The connections of its job queue have another name. */
export const APPLICATION_NAME = 'payments'

/** Opens the database as the role of the service. It connects on demand. */
export function openPaymentsDatabase(
  config: PaymentsConfig,
  onConnectionError: (error: Error) => void,
  {
    writeTimeoutMs = WRITE_TIMEOUT_MS,
    ...rest
  }: Partial<Pick<DatabaseConfig, 'writeTimeoutMs' | 'standby' | 'spans' | 'findOwner'>> = {},
): Database<PaymentsTables> {
  return openDatabase<PaymentsTables>({
    url: config.database.url,
    coordinatorUrl: config.database.coordinatorUrl,
    names: paymentsNames(config),
    applicationName: APPLICATION_NAME,
    poolSize: config.database.poolSize,
    role: config.database.role,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    writeTimeoutMs,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    prepared: config.database.prepared,
    readAgain,
    ...rest,
    onConnectionError,
  })
}

/** Opens the database of a serving process, with its standby. If tracing is on, statements create spans. */
export async function openServingDatabase(
  config: PaymentsConfig,
  { findOwner, logger }: Pick<DatabaseConfig, 'findOwner'> & Pick<ServiceLogger, 'logger'>,
): Promise<Database<PaymentsTables>> {
  return openPaymentsDatabase(config, (error) => logger.warn({ err: error }, 'database connection lost'), {
    findOwner,
    standby: standbyOf(config.database.standby, logger),
    spans: await loadQuerySpans(config.server),
  })
}

const OPERATOR_POOL_SIZE = 4

interface OperatorDatabaseOptions extends Pick<DatabaseConfig, 'findOwner'> {
  readonly logger: { warn(line: object, text: string): void }
}

/** Opens the database as the role of operators, on the coordinator (console reference: Rights of operators). */
export function openOperatorDatabase(
  config: PaymentsConfig,
  { findOwner, logger }: OperatorDatabaseOptions,
): Database<PaymentsTables> {
  const { operatorUrl, migrationUrl, operatorRole: role } = config.database
  const database = { ...config.database, url: operatorUrl ?? migrationUrl, coordinatorUrl: undefined, role }
  return openPaymentsDatabase(
    { ...config, database: { ...database, poolSize: OPERATOR_POOL_SIZE } },
    (error) => logger.warn({ err: error }, 'connection of operators lost'),
    { findOwner },
  )
}

/** Creates the job queue of the service, which is on the coordinator. The queue connects when it is opened. */
export function openPaymentsJobs(
  config: PaymentsConfig,
  options: Pick<JobsConfig, 'meter' | 'onError' | 'now' | 'mayWork'>,
): Jobs {
  return createJobs({
    url: config.database.coordinatorUrl ?? config.database.url,
    schema: paymentsNames(config).jobSchema,
    role: config.database.role,
    prepared: config.database.prepared,
    applicationName: 'payments-jobs',
    payloadKeys: createJobKeys(config),
    ...options,
  })
}

interface ServingJobs extends Pick<JobsConfig, 'meter' | 'now'> {
  readonly logger: { warn(line: object, text: string): void }
  readonly database: Pick<Database<PaymentsTables>, 'mode'>
}

/** Creates the job queue of a serving process. The queue pauses its work during a rebalance. */
export function openServingJobs(config: PaymentsConfig, { meter, now, logger, database }: ServingJobs): Jobs {
  return openPaymentsJobs(config, {
    meter,
    onError: (error) => logger.warn({ err: error }, 'the job queue has trouble'),
    now,
    mayWork: () => !database.mode().isRebalancing,
  })
}

/**
 * Resolves if the tables match this release. A serving process is ready only after its migrations are applied. A command must not
 * write to the tables of an earlier release.
 * @throws Error if migrations are pending
 */
export async function expectMigrations({ checks, names }: Database<PaymentsTables>): Promise<void> {
  const migrated = await isMigrated(checks, { names, sources: paymentsMigrations, files: paymentsFunctions })
  if (!migrated) throw new Error('migrations are pending: run payments migrate')
}

/** After this time a silent coordinator counts as unavailable. It is shorter than a readiness check. */
const COORDINATOR_MS = 500

/** Creates the readiness of a process. It ignores an unavailable coordinator if the process connects to another server. */
export function createProcessReadiness(
  database: Database<PaymentsTables>,
  jobs: Pick<Jobs, 'check'>,
  { url, coordinatorUrl = url }: Pick<PaymentsConfig['database'], 'url' | 'coordinatorUrl'>,
): Readiness {
  const unlessAway = async (check: () => Promise<void>): Promise<void> => {
    if (coordinatorUrl === url || (await answers(database))) await check()
  }
  return createReadiness({
    database: () => database.ping(),
    // Skip this check during a rebalance, because functions are being recreated then. Reads continue.
    migrations: async () => (database.mode().isRebalancing ? undefined : unlessAway(() => expectMigrations(database))),
    worker: () => unlessAway(() => jobs.check()),
  })
}

/** Whether the coordinator answers in time. A crashed machine does not refuse connections, so a time limit is needed. */
function answers({ checks }: Pick<Database<PaymentsTables>, 'checks'>): Promise<boolean> {
  const query = sql`SELECT 1`.execute(checks).then(
    () => true,
    (error: unknown) => !isDatabaseUnavailable(error),
  )
  return Promise.race([query, pause(COORDINATOR_MS, false, { ref: false })])
}
