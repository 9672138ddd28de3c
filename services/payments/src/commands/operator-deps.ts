import { expectWhole } from '@trestle/citus/notes.ts'
import type { Database } from '@trestle/database/connect.ts'
import { isSameDatabase } from '@trestle/database/wait-for-database.ts'
import { findPooler } from '@trestle/service/prepare-database.ts'
import { pino } from 'pino'
import type { PaymentsConfig } from '../config.ts'
import type { PaymentsTables } from '../database.ts'
import { createSecrets, type OperatorDeps, openAcquirers, SOURCES } from '../deps.ts'
import { expectMigrations, openPaymentsDatabase, openPaymentsJobs } from '../open-database.ts'
import { findPlacement, type Placement } from '../placement/placement.ts'
import { createOperationGroup } from '../transactions/operation-group.ts'
import { createWebhookSecrets } from '../webhooks/webhook-secret.ts'

/** An hour, because a statement of an operator may read all rows. */
const OPERATION_TIMEOUT_MS = 3_600_000

/** Opens the dependencies of an operator's command. @throws Error for the reasons of `openOwnersDatabase` */
export async function openOperatorDeps(config: PaymentsConfig): Promise<OperatorDeps> {
  const { database, placement } = await openOwnersDatabase(config)
  const meter = (await import('@opentelemetry/api')).createNoopMeter()
  const { db, pools, names } = database
  const { pepper, vault } = createSecrets(config, meter)
  return {
    config,
    pepper,
    vault,
    ...SOURCES,
    meter,
    webhookSecrets: createWebhookSecrets(config),
    acquirers: openAcquirers(config, { pools, meter, logger: pino({ enabled: false }) }),
    operations: createOperationGroup({ pools, meter, terms: config.rateTerms, scope: () => placement.batchScope }),
    jobs: openPaymentsJobs(config, { meter, onError: () => {}, now: SOURCES.now }),
    db,
    pools,
    names,
    placement,
    close: () => database.close(),
  }
}

/**
 * Opens the database with the login of `migrate`, because the login of the service may not call the functions for operators.
 * @throws Error if a pooler discards session settings, if the URLs of service and migrations lead to different databases, during
 * a rebalance, or if migrations are pending
 */
async function openOwnersDatabase(
  config: PaymentsConfig,
): Promise<{ readonly database: Database<PaymentsTables>; readonly placement: Placement }> {
  const { migrationUrl, coordinatorUrl: url = config.database.url, prepared } = config.database
  const pooler = await findPooler({ program: 'payments', url: migrationUrl, prepared })
  if (pooler) throw pooler
  if (url !== migrationUrl && !(await isSameDatabase(url, migrationUrl))) {
    throw new Error('PAYMENTS_MIGRATION_DATABASE_URL is another database than PAYMENTS_DATABASE_URL')
  }
  const asOwner = {
    ...config,
    database: { ...config.database, url: migrationUrl, coordinatorUrl: undefined, role: undefined },
  }
  const placement = await findPlacement(asOwner, SOURCES.now)
  const { findOwner } = placement
  const database = openPaymentsDatabase(asOwner, () => {}, { writeTimeoutMs: OPERATION_TIMEOUT_MS, findOwner })
  try {
    await expectWhole(database.checks.withoutPlugins(), database.names)
    await expectMigrations(database)
  } catch (error) {
    await database.close()
    throw error
  }
  return { database, placement }
}
