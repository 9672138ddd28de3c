import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { StandbyConfig } from '@trestle/database/standby.ts'

/** The settings of a standby, which payments and inventory read under their own prefixes. */
export interface StandbySettings {
  /** Undefined: there is no standby. */
  readonly url: string | undefined
  readonly lagMsMax: number
}

/** The standby of a service; undefined when the settings name none. It logs when the standby begins and stops to serve lists. */
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
      else logger.warn(known, 'the standby is away or too far behind: the primary serves lists too')
    },
  }
}
