import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { StandbyConfig } from '@trestle/database/standby.ts'

/** What a service's settings say of its standby. */
export interface StandbySettings {
  /** Undefined where there is none. */
  readonly url: string | undefined
  readonly lagMaxMs: number
}

/** The standby of a service; the log says when it is asked and when it is not. */
export function standbyOf(
  { url, lagMaxMs }: StandbySettings,
  logger: Pick<ServiceLogger['logger'], 'info' | 'warn'>,
): StandbyConfig | undefined {
  if (url === undefined) return undefined
  return {
    url,
    lagMaxMs,
    onChange: (isAsked, lagMs) => {
      const known = { lag_ms: lagMs === undefined ? null : Math.round(lagMs) }
      if (isAsked) logger.info(known, 'the standby serves lists')
      else logger.warn(known, 'the standby is away or too far behind: the primary serves lists too')
    },
  }
}
