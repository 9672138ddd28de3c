import { citusCluster } from '@trestle/citus/cluster.ts'
import { urlsOfHosts } from '@trestle/database/driver/hosts.ts'
import { type MigrateOptions, migrateAtStart } from '@trestle/database/migrations/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { loginOf } from '@trestle/database/rights/roles.ts'
import { installJobs, QUEUE_VERSION } from '@trestle/jobs/install.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { paymentsFunctions, paymentsMigrations } from '@trestle/migrations/payments.ts'
import type { DatabaseSettings } from '@trestle/service/database-settings.ts'
import { acquirerEventsTask, acquirerTask, confirmationTask } from './acquirers/acquirer-jobs.ts'
import type { PaymentsTables } from './database.ts'
import { simulatedDisputeTask } from './disputes/simulated-dispute-job.ts'
import { snapshotTask } from './ledger/snapshot-job.ts'
import { invitationMailTask, rejectionMailTask } from './mail/mails.ts'
import { payoutRunTask, payoutTask } from './payouts/payout-job.ts'
import { tableClasses } from './placement/distributed-rows.ts'
import { expiryTask, inquiryTask } from './transactions/transaction-jobs.ts'
import { cleanUpTask } from './use-cases/clean-up.ts'
import { VERSION } from './version.ts'
import { deliveryTask } from './webhooks/delivery.ts'

// The database of the service as `migrate` creates it: tables, queues and rights.

/** All tasks of background work. `migrate` creates a queue for each task. */
export const tasks: readonly AnyTask[] = [
  acquirerTask,
  acquirerEventsTask,
  confirmationTask,
  rejectionMailTask,
  expiryTask,
  inquiryTask,
  invitationMailTask,
  cleanUpTask,
  deliveryTask,
  payoutTask,
  payoutRunTask,
  simulatedDisputeTask,
  snapshotTask,
]

interface DatabaseConfig {
  readonly database: Pick<DatabaseSettings, 'migrationUrl' | 'namespace' | 'role'> &
    Partial<Pick<DatabaseSettings, 'url' | 'isProduction'>> & {
      readonly operatorRole?: string | undefined
      readonly operatorUrl?: string | undefined
    }
}

export function paymentsNames({ database }: { readonly database: Pick<DatabaseSettings, 'namespace'> }): Names {
  return createNames('payments', database.namespace)
}

/** The steps of `migrate`: migrations and functions, then job queues, then the rights of the service's role. */
export function migrateOptions(config: DatabaseConfig): MigrateOptions {
  const names = paymentsNames(config)
  const { migrationUrl: url, role, url: entry, isProduction, operatorRole, operatorUrl } = config.database
  const serviceUrl = entry && urlsOfHosts(entry)[0]
  return {
    url,
    names,
    sources: paymentsMigrations,
    cluster: citusCluster,
    functions: {
      files: paymentsFunctions,
      release: VERSION,
      replacesOwnRelease: !isProduction,
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
      operatorFunctions,
      rowsOfMerchants,
      operatorRole,
      operatorLogin: operatorUrl && loginOf(operatorUrl),
    },
    afterwards: [(db) => installJobs(db, { url, schema: names.jobSchema, tasks })],
    grants:
      role === undefined
        ? undefined
        : {
            role,
            serviceUrl,
            appendOnly: [],
            readOnly: readOnlyTables,
            columns: writableColumns,
            operators: {
              functions: operatorFunctions,
              readOnly: rowsOfMerchants,
              role: operatorRole,
              url: operatorUrl,
            },
          },
  }
}

/** Brings the database up to date, and returns the names of the migrations that were pending. */
export async function migrateToLatest(config: DatabaseConfig): Promise<readonly string[]> {
  return (await migrateAtStart(migrateOptions(config))).migrations
}

/**
 * Tables that decide where money goes, or that record who moved it. Only SQL functions write these tables, and the service may
 * only read them. A stolen login of the service can therefore do only what the functions allow.
 */
export const readOnlyTables: readonly (keyof PaymentsTables)[] = [
  'merchants',
  'merchant_balances',
  'id_aliases',
  'instruments',
  'transactions',
  'cards',
  'disputes',
  'frauds',
  'payouts',
  'attempts',
  'acquirer_operations',
  'acquirer_exceptions',
  'fx_rates',
  'account_snapshots',
  'journals',
  'entries',
  'trail_entries',
  'lines',
  'state_entries',
  'audit',
  'events',
  'payout_batches',
  'operator_changes',
  'operator_allowances',
  'allowance_uses',
  'registration',
]

/**
 * Tables with rows of a merchant. The role of operators may only read them. Operator changes write them through SQL functions,
 * with the rights of the owner, as they write the audit log. A cluster refuses a transaction that writes rows of a merchant as
 * two users.
 */
export const rowsOfMerchants: readonly string[] = Object.entries(tableClasses).flatMap(([table, kind]) =>
  kind === 'owned' ? [table] : [],
)

/**
 * Columns that the service may write in tables that it may otherwise only read or append to. The rotation of vault keys encrypts
 * card numbers again, so it must write these columns.
 */
const writableColumns = { instruments: ['pan_sealed', 'key_id', 'pan_mac'] } as const

/**
 * Functions that the service calls with its own rights. All other functions that it calls run with the rights of their owner.
 * Their files say `SECURITY DEFINER SET search_path = pg_catalog, pg_temp`. For any other function, PostgreSQL answers
 * "permission denied".
 *
 * The service may not call the functions of operator commands: create_app, adjust, import_rates, seed_merchant, seed_transaction
 * and add_audit. The commands connect as the owner.
 */
export const invokerFunctions = ['new_id', 'random_tag', 'merchant_now']

/**
 * Functions that only operators call, by commands or over HTTP. They run with the rights of their owner. The role of the service
 * may not call them, because it is not an operator. The role of operators may, in addition to all rights of the service.
 */
export const operatorFunctions = [
  'claim_operator_change',
  'finish_operator_change',
  'take_allowance',
  'use_allowance',
  'return_allowance',
  'run_operator_operation',
  'change_merchant',
  'close_payout',
  'export_waiting_payouts',
  'count_waiting_payouts',
  'insert_payout_batch',
  'add_operator_read',
  'change_registration',
  'resolve_exception',
  'enable_webhook',
]
