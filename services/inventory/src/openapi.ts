import { createReadiness } from '@trestle/common/server/readiness.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { createMetrics } from '@trestle/common/telemetry/metrics.ts'
import { startTracing } from '@trestle/common/telemetry/tracing.ts'
import type { Lane } from '@trestle/database/lanes.ts'
import { buildApp } from './app.ts'
import { loadInventoryConfig } from './config.ts'
import { inventoryNames } from './deps.ts'

/** What decides the document; the rest of the settings does not show in it. */
const ENV = {
  INVENTORY_DATABASE_URL: 'postgres://localhost/inventory',
  INVENTORY_DEFAULT_LIMIT: '50',
  INVENTORY_MAX_LIMIT: '500',
  INVENTORY_DOCS_ENABLED: 'true',
}

const noLane: Lane = { one: refuse, first: refuse, all: refuse }

/** The OpenAPI document of the service, made from its routes alone: no database and no listener is opened. */
export async function buildOpenApi(): Promise<object> {
  const config = loadInventoryConfig(ENV)
  const resource = {}
  const app = await buildApp({
    config,
    lanes: { read: noLane, write: noLane },
    names: inventoryNames(config),
    log: createLogger({ level: 'fatal', stdout: false }),
    metrics: await createMetrics({ ...config.metrics, enabled: false, resource }),
    tracing: await startTracing({ enabled: false, resource }),
    readiness: createReadiness({}),
  })
  await app.ready()
  const document = app.swagger()
  await app.close()
  return document
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('no database is open while the document is made'))
}
