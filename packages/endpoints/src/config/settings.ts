import type { delimiter as pathDelimiter } from 'node:path'
import type { ZodType } from 'zod'
import type { JsonCodec } from '../body/json.ts'
import type { MultipartLimits } from '../body/multipart.ts'
import type { CallError } from '../errors.ts'
import type { CorsPolicy } from '../guards/cors.ts'
import type { Guard } from '../guards/guard.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'

export interface Settings {
  readonly strict: boolean
  /** Converts a part of a path to its URL name. `undefined` if only URL names are accepted. */
  readonly canonicalPart: ((part: string) => string) | undefined
  readonly allowEncodedSlash: boolean
  readonly signatures: boolean
  readonly bodyBytesMax: number
  readonly multipart: MultipartLimits
  /** Whether an empty value of a query or form counts as absent. */
  readonly emptyAsAbsent: boolean
  /** The time in milliseconds for which a client may read no byte of an answer. 0 means no limit. */
  readonly writeTimeoutMs: number
  readonly use: readonly Guard[]
  readonly cors: CorsPolicy | undefined
  /** The number of trusted proxies in front of the server. */
  readonly trustedProxies: number
  /** The header name in lower case. */
  readonly requestIdHeader: string
  readonly exposeErrors: boolean
  /** In development, return values are compared with `returns`, and a 404 names a similar URL. */
  readonly development: boolean
  readonly json: JsonCodec
  /** The schema of the bodies from `errorBody`, for the OpenAPI document. */
  readonly errorSchema: ZodType | undefined
  readonly onError: ((error: unknown, request: EndpointRequest) => unknown) | undefined
  readonly onFault: ((error: unknown, request: EndpointRequest) => void) | undefined
  readonly errorBody: ((error: CallError, request: EndpointRequest) => unknown) | undefined
}

/**
 * Checks a limit of the application. `NaN` is refused, because no number is larger than `NaN` and it would never limit anything.
 * @throws RangeError unless the value is a number of at least `min`
 */
export function checkLimit(name: string, value: number, min = 0): number {
  if (!(value >= min)) throw new RangeError(`${name} must be a number of at least ${min}, not ${value}`)
  return value
}

/**
 * Completes the limits of a form with the limits of `otherwise`.
 * @throws RangeError if a value is not a number, Error if a name is unknown
 */
export function multipartLimits(given: Partial<MultipartLimits> = {}, otherwise: MultipartLimits): MultipartLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(otherwise, name)) throw new Error(`multipart has no limit ${name}`)
    checkLimit(`multipart.${name}`, value)
  }
  return { ...otherwise, ...given }
}

/** Whether `NODE_ENV` is `production`. A runtime without environment variables counts as production and exposes no internals. */
export function isProduction(): boolean {
  return globalThis.process?.env === undefined || variable('NODE_ENV') === 'production'
}

/** Prefixes of `ENDPOINTS_PREFIX`, split like `PATH`, then `ENDPOINTS_PREFIX_1`, `_2`, …, up to the first gap. */
export function prefixesFromEnvironment(delimiter: typeof pathDelimiter): readonly string[] {
  const prefixes = (variable('ENDPOINTS_PREFIX') ?? '').split(delimiter)
  for (let n = 1, next = variable('ENDPOINTS_PREFIX_1'); next; n += 1, next = variable(`ENDPOINTS_PREFIX_${n}`)) {
    prefixes.push(next)
  }
  return prefixes.filter((prefix) => prefix !== '')
}

/** Returns the system time in milliseconds since 1970. */
export function systemClock(): number {
  return Date.now()
}

/** Returns `undefined` if the variable is not set or the runtime has no environment variables. */
function variable(name: string): string | undefined {
  return globalThis.process?.env?.[name]
}
