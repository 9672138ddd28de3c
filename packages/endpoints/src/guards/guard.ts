import type { ResponseState } from '../answers/response-state.ts'
import type { Arguments } from '../binding/keywords.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'

/** What a guard decides on: the request, the answer so far, and the arguments. */
export interface GuardContext {
  readonly request: EndpointRequest
  readonly response: ResponseState
  /** The arguments of the handler, or `undefined` in the phase `early`. */
  readonly args: Arguments | undefined
}

/** How a client authenticates, for the OpenAPI document. */
export interface GuardSecurity {
  /** The name of the scheme in the document. */
  readonly name: string
  /** An OpenAPI security scheme object. */
  readonly scheme: Readonly<Record<string, unknown>>
  readonly scopes?: readonly string[]
}

/** Decides whether a call continues. It refuses the call by an error, or by `false` (or a promise of it) for 403. */
export interface Guard {
  (context: GuardContext): unknown
  readonly security?: GuardSecurity
  /** The statuses that the guard answers with, and their meanings. */
  readonly responses?: Readonly<Record<number, string>>
  /** `early` (default) guards run before the body is read. `bound` guards run with the arguments of the call. */
  readonly phase?: 'early' | 'bound'
}

/** Creates a guard that lets clients cache the answer for some seconds. */
export function httpCache(seconds: number): Guard {
  return ({ response }) => {
    response.headers.set('cache-control', `max-age=${seconds}`)
  }
}

/** Creates a guard that forbids caching of the answer, including error answers. */
export function noHttpCache(): Guard {
  return ({ response }) => {
    response.headers.set('cache-control', 'no-cache, no-store, must-revalidate')
    response.headers.set('pragma', 'no-cache')
    response.headers.set('expires', '0')
  }
}
