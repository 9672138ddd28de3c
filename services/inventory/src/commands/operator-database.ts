import { type Database, openDatabase } from '@trestle/database/connect.ts'
import type { InventoryConfig } from '../config.ts'
import type { InventoryTables } from '../database.ts'
import { inventoryNames } from '../migrations.ts'

const LOCK_TIMEOUT_MS = 120_000

/**
 * Opens the database for a command, with the role of the service. Statements have no timeout, because they read whole tables and
 * no client waits for them.
 */
export function openForCommand(config: InventoryConfig, command: string): Database<InventoryTables> {
  return openDatabase<InventoryTables>({
    url: config.databaseUrl,
    names: inventoryNames(config),
    applicationName: `inventory-${command}`,
    poolSize: 1,
    role: config.databaseRole,
    statementTimeoutMs: 0,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    prepared: config.databasePrepared,
    onConnectionError: () => {},
  })
}
