import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'

/** Connections for writes where the setting is 0. */
const POOL_CONNECTIONS = 16
/** The largest pool that does not slow PostgreSQL down. */
export const LARGE_POOL_CONNECTIONS = 32

/** The connections for writes that a setting asks for. 0 leaves the number to the service. */
export function toPoolSize(setting: number): number {
  return setting === 0 ? POOL_CONNECTIONS : setting
}

/** Logs that a pool is so large that it slows PostgreSQL down. */
export function warnOfLargePool(logger: Pick<ServiceLogger['logger'], 'warn'>, poolSize: number): void {
  if (poolSize > LARGE_POOL_CONNECTIONS) {
    logger.warn({ pool_size: poolSize }, `a pool above ${LARGE_POOL_CONNECTIONS} connections loses speed`)
  }
}
