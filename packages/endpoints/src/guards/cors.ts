import type { ResponseState } from '../answers/response-state.ts'
import { PROBLEM_TEXTS } from '../error-texts.ts'
import { Forbidden } from '../errors.ts'

/** The pages of other origins that may call (reference: CORS). */
export interface CorsOptions {
  /** Origins such as `https://example.com`. Default: any. */
  readonly origins?: readonly string[]
  /** Whether cookies and `Authorization` are allowed. It needs a list of origins. */
  readonly credentials?: boolean
  /** Request headers that are allowed. Default: the headers that the client asks for. */
  readonly headers?: readonly string[]
  /** Response headers that a page may read. */
  readonly expose?: readonly string[]
  /** Methods that are allowed. Default: the methods of the URL. */
  readonly methods?: readonly string[]
  /** How long a browser may cache the answer to a preflight. */
  readonly maxAgeSeconds?: number
}

/** The rules of an application for requests from pages of other origins (Fetch Standard, CORS protocol). */
export interface CorsPolicy {
  /** Adds the headers of an answer to a request from the origin. */
  readonly apply: (origin: string | undefined, response: ResponseState) => void
  /** Adds the headers of the answer to a preflight request. */
  readonly preflight: (asked: Preflight, response: ResponseState) => void
}

/** The origin and the headers that a preflight names, and the methods that its path allows (Fetch Standard, CORS protocol). */
export interface Preflight {
  readonly origin: string
  readonly requestedHeaders: string | undefined
  readonly allow: readonly string[]
}

const MAX_AGE_SECONDS = 3_600

/** Names of headers (RFC 9110, section 5.6.2), separated by commas. */
const headerNames = /^[\w!#$%&'*+.^`|~,\t -]*$/

/**
 * Returns the policy of the options; undefined when CORS is off.
 * @throws Error when credentials are allowed for any origin
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

  /** Sets the headers that say which origin may read an answer. */
  const apply = (origin: string | undefined, response: ResponseState): void => {
    if (listed !== undefined) response.vary('Origin')
    if (origin === undefined || !isAllowed(origin)) return
    response.headers.set('access-control-allow-origin', listed === undefined ? '*' : origin)
    if (credentials) response.headers.set('access-control-allow-credentials', 'true')
    if (expose.length > 0) response.headers.set('access-control-expose-headers', expose.join(', '))
  }
  /** Completes the answer to a preflight. @throws Forbidden for a foreign origin */
  const preflight = ({ origin, requestedHeaders, allow }: Preflight, response: ResponseState): void => {
    if (!isAllowed(origin)) throw new Forbidden(PROBLEM_TEXTS.originNotAllowed)
    response.headers.set('access-control-allow-methods', (methods ?? allow).join(', '))
    const allowed = headers?.join(', ') ?? requestedHeaders
    // Other texts name no header, and an answer could not hold each of them.
    if (allowed !== undefined && headerNames.test(allowed))
      response.headers.set('access-control-allow-headers', allowed)
    if (headers === undefined) response.vary('Access-Control-Request-Headers')
    response.headers.set('access-control-max-age', String(maxAgeSeconds))
  }
  return { apply, preflight }
}
