/** Connections for writes where the setting is 0. */
const POOL_CONNECTIONS = 16
/** The largest pool that does not slow PostgreSQL down. */
const LARGE_POOL_CONNECTIONS = 32

/** The connections for writes that a setting asks for. 0 leaves the number to the service. */
export function toPoolSize(setting: number): number {
  return setting === 0 ? POOL_CONNECTIONS : setting
}

/** Returns a warning when a setting asks for so large a pool that it slows PostgreSQL down. */
export function largePoolWarnings(name: string, setting: number): readonly string[] {
  return setting > LARGE_POOL_CONNECTIONS
    ? [`${name} above ${LARGE_POOL_CONNECTIONS} makes the database slower, not faster`]
    : []
}
