import { type Database, openDatabase } from '@trestle/database/connect.ts'
import type { InventoryConfig } from '../config.ts'
import type { InventoryTables } from '../database.ts'
import { inventoryNames } from '../deps.ts'

/** What one statement of a command may take: it works through tables, and nobody waits for an answer. */
const STATEMENT_TIMEOUT_MS = 120_000

/** Opens the database for a command, as the role that the service works as. */
export function openForCommand(config: InventoryConfig, command: string): Database<InventoryTables> {
  return openDatabase<InventoryTables>({
    url: config.databaseUrl,
    names: inventoryNames(config),
    applicationName: `inventory-${command}`,
    poolSize: 1,
    role: config.databaseRole,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    lockTimeoutMs: STATEMENT_TIMEOUT_MS,
    prepared: config.databasePrepared,
    onConnectionError: () => {},
  })
}
