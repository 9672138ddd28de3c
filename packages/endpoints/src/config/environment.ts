import type { delimiter as pathDelimiter } from 'node:path'

/**
 * Whether `NODE_ENV` says production. A runtime without an environment counts as production, where nothing may show internals.
 */
export function isProduction(): boolean {
  return globalThis.process?.env === undefined || variable('NODE_ENV') === 'production'
}

/** `ENDPOINTS_PREFIX`, split like `PATH`, then `ENDPOINTS_PREFIX_1`, `_2`, … up to the first gap. */
export function prefixesFromEnvironment(delimiter: typeof pathDelimiter): readonly string[] {
  const prefixes = (variable('ENDPOINTS_PREFIX') ?? '').split(delimiter)
  for (let n = 1, next = variable('ENDPOINTS_PREFIX_1'); next; n += 1, next = variable(`ENDPOINTS_PREFIX_${n}`)) {
    prefixes.push(next)
  }
  return prefixes.filter((prefix) => prefix !== '')
}

/** The clock of the machine, in milliseconds since 1970. */
export function systemClock(): number {
  return Date.now()
}

/** Undefined also when the runtime has no environment. */
function variable(name: string): string | undefined {
  return globalThis.process?.env?.[name]
}
