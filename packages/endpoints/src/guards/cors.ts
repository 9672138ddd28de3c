import type { ResponseState } from '../answers/response-state.ts'
import { PROBLEM_TEXTS } from '../error-texts.ts'
import { Forbidden } from '../errors.ts'

/** Which pages of other origins may call the application (reference: CORS). */
export interface CorsOptions {
  /** Origins such as `https://example.com`. By default all origins are allowed. */
  readonly origins?: readonly string[]
  /** Whether cookies and `Authorization` are allowed. This requires a list of origins. */
  readonly credentials?: boolean
  /** The allowed request headers. By default, all headers that the client requests. */
  readonly headers?: readonly string[]
  /** The response headers that a page may read. */
  readonly expose?: readonly string[]
  /** The allowed methods. By default, the methods of the URL. */
  readonly methods?: readonly string[]
  /** How long a browser may cache the answer to a preflight request, in seconds. */
  readonly maxAgeSeconds?: number
}

/** The rules of an application for requests from pages of other origins (Fetch Standard, CORS protocol). */
export interface CorsPolicy {
  /** Adds the CORS headers to the answer to a request from this origin. */
  readonly apply: (origin: string | undefined, response: ResponseState) => void
  /** Adds the CORS headers to the answer to a preflight request. */
  readonly preflight: (asked: Preflight, response: ResponseState) => void
}

/** The origin and the headers in a preflight request, and the methods that its path supports (Fetch Standard, CORS protocol). */
export interface Preflight {
  readonly origin: string
  readonly requestedHeaders: string | undefined
  readonly allow: readonly string[]
}

const MAX_AGE_SECONDS = 3_600

/** A comma-separated list of header names (RFC 9110, section 5.6.2). */
const headerNames = /^[\w!#$%&'*+.^`|~,\t -]*$/

/**
 * Returns the policy of the options, or `undefined` if CORS is off.
 * @throws Error if credentials are allowed for any origin
 */
export function corsPolicy(options: boolean | CorsOptions | undefined): CorsPolicy | undefined {
  if (options === undefined || options === false) return undefined
  const {
    origins,
    credentials = false,
    headers,
    expose = [],
    methods,
    maxAgeSeconds = MAX_AGE_SECONDS,
  } = options === true ? {} : options
  if (credentials && (origins === undefined || origins.includes('*'))) {
    throw new Error('CORS with credentials needs a list of origins')
  }
  const listed = origins === undefined || origins.includes('*') ? undefined : new Set(origins)
  const isAllowed = (origin: string): boolean => listed === undefined || listed.has(origin)

  /** Sets the headers that determine which origin may read an answer. */
  const apply = (origin: string | undefined, response: ResponseState): void => {
    if (listed !== undefined) response.vary('Origin')
    if (origin === undefined || !isAllowed(origin)) return
    response.headers.set('access-control-allow-origin', listed === undefined ? '*' : origin)
    if (credentials) response.headers.set('access-control-allow-credentials', 'true')
    if (expose.length > 0) response.headers.set('access-control-expose-headers', expose.join(', '))
  }
  /** Completes the answer to a preflight request. @throws Forbidden if the origin is not allowed */
  const preflight = ({ origin, requestedHeaders, allow }: Preflight, response: ResponseState): void => {
    if (!isAllowed(origin)) throw new Forbidden(PROBLEM_TEXTS.originNotAllowed)
    response.headers.set('access-control-allow-methods', (methods ?? allow).join(', '))
    const allowed = headers?.join(', ') ?? requestedHeaders
    // Ignore other texts. They are not header names, and some of them cannot be sent in a header.
    if (allowed !== undefined && headerNames.test(allowed))
      response.headers.set('access-control-allow-headers', allowed)
    if (headers === undefined) response.vary('Access-Control-Request-Headers')
    response.headers.set('access-control-max-age', String(maxAgeSeconds))
  }
  return { apply, preflight }
}
