import type { ResponseState } from '../answers/response-state.ts'
import type { Arguments } from '../binding/keywords.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'

/** The request, the answer so far and the arguments, on which a guard decides whether it refuses. */
export interface GuardContext {
  readonly request: EndpointRequest
  readonly response: ResponseState
  /** The arguments of the handler; undefined in the phase `early`. */
  readonly args: Arguments | undefined
}

/** How a client authenticates, for the OpenAPI document. */
export interface GuardSecurity {
  /** Name of the scheme in the document. */
  readonly name: string
  /** A security scheme object. */
  readonly scheme: Readonly<Record<string, unknown>>
  readonly scopes?: readonly string[]
}

/** Decides whether a call goes on. It throws to refuse, or returns `false` (or a promise of `false`) for 403. */
export interface Guard {
  (context: GuardContext): unknown
  readonly security?: GuardSecurity
  /** Statuses that the guard answers with, and their meaning. */
  readonly responses?: Readonly<Record<number, string>>
  /** `early` (default): before the body is read. `bound`: with the arguments of the call. */
  readonly phase?: 'early' | 'bound'
}

/** A guard that lets clients cache the answer for some seconds. */
export function httpCache(seconds: number): Guard {
  return ({ response }) => {
    response.headers.set('cache-control', `max-age=${seconds}`)
  }
}

/** A guard that forbids caching of the answer, also of an error. */
export function noHttpCache(): Guard {
  return ({ response }) => {
    response.headers.set('cache-control', 'no-cache, no-store, must-revalidate')
    response.headers.set('pragma', 'no-cache')
    response.headers.set('expires', '0')
  }
}
