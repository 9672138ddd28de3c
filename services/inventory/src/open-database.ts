import { randomBytes } from 'node:crypto'
import { type Database, openDatabase } from '@trestle/database/connect.ts'
import { isMigrated } from '@trestle/database/migrations/migrate.ts'
import { CONNECTION_WAIT_MS, type DatabaseConfig } from '@trestle/database/open-server.ts'
import { createJobs, type Jobs, type JobsConfig } from '@trestle/jobs/jobs.ts'
import { inventoryFunctions, inventoryMigrations } from '@trestle/migrations/inventory.ts'
import { findPooler } from '@trestle/service/prepare-database.ts'
import type { InventoryConfig } from './config.ts'
import type { InventoryTables } from './database.ts'
import { inventoryNames } from './migrations.ts'
import { KEY_WAIT_MS, LISTS, TRANSFER_CONNECTIONS, TRANSFER_WAIT_MS } from './rate-limits/concurrency-limits.ts'

const COMMAND_LOCK_TIMEOUT_MS = 120_000
const SEAL_KEY_BYTES = 32

/** Opens the database with the role of the service. Connections are opened on demand. */
export function openInventoryDatabase(
  config: InventoryConfig,
  onConnectionError: (error: Error) => void,
  rest: Pick<DatabaseConfig, 'standby' | 'spans'> = {},
): Database<InventoryTables> {
  const { poolSize, statementTimeoutMs } = config.database
  return openDatabase<InventoryTables>({
    ...connectionOf(config),
    applicationName: 'inventory',
    poolSize,
    statementTimeoutMs,
    // An idempotent request waits for the first request before it waits for locks.
    writeTimeoutMs: KEY_WAIT_MS + statementTimeoutMs,
    lockTimeoutMs: Math.ceil(statementTimeoutMs / 2),
    connectionWaitMs: Math.max(CONNECTION_WAIT_MS, statementTimeoutMs),
    laggingConnections: LISTS.slots,
    ...rest,
    onConnectionError,
  })
}

export function openTransferDatabase(
  config: InventoryConfig,
  onConnectionError: (error: Error) => void,
  rest: Pick<DatabaseConfig, 'spans'> = {},
): Database<InventoryTables> {
  return openDatabase<InventoryTables>({
    ...connectionOf(config),
    applicationName: 'inventory-transfers',
    poolSize: TRANSFER_CONNECTIONS,
    readConnections: 0,
    statementTimeoutMs: 0,
    lockTimeoutMs: TRANSFER_WAIT_MS,
    ...rest,
    onConnectionError,
  })
}

/**
 * Opens the database for a command of an operator.
 * @throws Error if the connection goes through a pooler that drops the role and the search path. The service does not start then
 */
export async function openOperatorDatabase(
  config: InventoryConfig,
  command: string,
): Promise<Database<InventoryTables>> {
  const pooler = await findPooler({ program: 'inventory', ...config.database })
  if (pooler) throw pooler
  return openCommandDatabase(config, command)
}

/**
 * Opens the database for a command, with the role of the service. Statements have no timeout, because they read whole tables and
 * no client waits for them.
 */
export function openCommandDatabase(config: InventoryConfig, command: string): Database<InventoryTables> {
  return openDatabase<InventoryTables>({
    ...connectionOf(config),
    applicationName: `inventory-${command}`,
    poolSize: 1,
    statementTimeoutMs: 0,
    lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS,
    onConnectionError: () => {},
  })
}

/** Opens the job queue. It connects when it is opened. Its payloads contain no secrets. */
export function openInventoryJobs(
  config: InventoryConfig,
  options: Pick<JobsConfig, 'meter' | 'onError' | 'now'>,
): Jobs {
  const { names, ...connection } = connectionOf(config)
  return createJobs({
    ...connection,
    schema: names.jobSchema,
    applicationName: 'inventory-jobs',
    // No task is encrypted. This random key would make an encrypted task fail in the next process instead of exposing it.
    payloadKeys: [randomBytes(SEAL_KEY_BYTES)],
    ...options,
  })
}

function connectionOf(config: InventoryConfig): Pick<DatabaseConfig, 'url' | 'names' | 'role' | 'prepared'> {
  return {
    url: config.database.url,
    names: inventoryNames(config),
    role: config.database.role,
    prepared: config.database.prepared,
  }
}

/** @throws Error if migrations are pending */
export async function expectMigrations({ checks, names }: Database<InventoryTables>): Promise<void> {
  const migrated = await isMigrated(checks, { names, sources: inventoryMigrations, files: inventoryFunctions })
  if (!migrated) throw new Error('migrations are pending')
}
