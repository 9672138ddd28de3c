import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import { openTelemetry, type Telemetry } from '@trestle/common/telemetry/open-telemetry.ts'
import type { Database } from '@trestle/database/connect.ts'
import { createServiceLog } from '@trestle/service/create-service-log.ts'
import { observeConnections } from '@trestle/service/observe-connections.ts'
import type { InventoryConfig } from './config.ts'
import type { InventoryTables } from './database.ts'
import { observeOverdue } from './reservations/stock-metrics.ts'
import { VERSION } from './version.ts'

export function openInventoryTelemetry({ server }: Pick<InventoryConfig, 'server'>): Promise<Telemetry> {
  const resource = { 'service.name': 'inventory', 'service.version': VERSION }
  return openTelemetry(server, { resource })
}

/** @throws Error that names the file if the log cannot be written */
export function createInventoryLog({ server }: Pick<InventoryConfig, 'server'>): ServiceLogger {
  return createServiceLog({ level: server.logLevel, file: server.logFile, stdout: server.logStdout })
}

/** Reports metrics of the database: connections and overdue reservations. */
export function observeDatabase(
  meter: Metrics['meter'],
  database: Database<InventoryTables>,
  transferDatabase: Database<InventoryTables>,
): void {
  observeConnections(meter, database, {
    transfers: transferDatabase,
    lists: { connections: () => database.laggingConnections() },
  })
  observeOverdue(meter, database.pools)
}
