import type { Attributes, Meter } from '@opentelemetry/api'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Database } from '@trestle/database/connect.ts'
import type { Connections } from '@trestle/database/driver/pool.ts'
import type { StandbyConfig } from '@trestle/database/standby.ts'

type Pool = Pick<Database<unknown>, 'connections'>

/**
 * Reports the connections of a service's pool as `db_pool_connections{state}`, and those of its other pools with the label
 * `pool`. If the service has a standby, it also reports the lag of the standby as `db_standby_lag_seconds`, and which server has
 * served reads that may lag as `db_standby_reads_total{server}`.
 */
export function observeConnections(
  meter: Meter,
  database: Pool & Pick<Database<unknown>, 'standby'>,
  others: Readonly<Record<string, Pool>> = {},
): void {
  const gauge = meter.createObservableGauge('db_pool_connections', {
    description: 'Connections of the pool by state, and requests that wait for one',
  })
  gauge.addCallback((result) => {
    const observe = (connections: Connections, labels: Attributes) => {
      for (const [state, count] of Object.entries(connections)) result.observe(count, { ...labels, state })
    }
    observe(database.connections(), {})
    for (const [pool, other] of Object.entries(others)) observe(other.connections(), { pool })
    const standby = database.standby()
    if (standby) observe(standby.connections, { pool: 'standby' })
  })
  if (database.standby() === undefined) return
  const lag = meter.createObservableGauge('db_standby_lag_seconds', { description: 'How far the standby is behind' })
  lag.addCallback((result) => {
    const { lagMs } = database.standby() ?? {}
    if (lagMs !== undefined) result.observe(lagMs / 1_000)
  })
  const reads = meter.createObservableCounter('db_standby_reads_total', {
    description: 'Reads that may lag behind, by the server that has served them',
  })
  reads.addCallback((result) => {
    for (const [server, count] of Object.entries(database.standby()?.reads ?? {})) result.observe(count, { server })
  })
}

/** The settings of a standby. Payments and inventory read them with their own prefixes. */
interface StandbySettings {
  /** `undefined` if there is no standby. */
  readonly url: string | undefined
  readonly lagMsMax: number
}

/** The standby of the settings, if any. It logs when it starts and stops serving lists. */
export function standbyOf(
  { url, lagMsMax }: StandbySettings,
  logger: Pick<ServiceLogger['logger'], 'info' | 'warn'>,
): StandbyConfig | undefined {
  if (url === undefined) return undefined
  return {
    url,
    lagMsMax,
    onChange: (isUsed, lagMs) => {
      const known = { lag_ms: lagMs === undefined ? null : Math.round(lagMs) }
      if (isUsed) logger.info(known, 'the standby serves lists')
      else logger.warn(known, 'the standby is unavailable or too far behind: the primary serves lists too')
    },
  }
}
