import type { Meter } from '@opentelemetry/api'
import type { Database } from '@trestle/database/connect.ts'

/** Reports the connections of a service's pool as `db_pool_connections{state}`. */
export function observeConnections(meter: Meter, database: Pick<Database<unknown>, 'connections'>): void {
  const gauge = meter.createObservableGauge('db_pool_connections', { description: 'Connections of the pool by state' })
  gauge.addCallback((result) => {
    for (const [state, count] of Object.entries(database.connections())) result.observe(count, { state })
  })
}
