import type { ResponseState } from '../answers/response-state.ts'
import type { Arguments } from '../binding/binding.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'

/** What a guard may look at. */
export interface GuardContext {
  readonly request: EndpointRequest
  readonly response: ResponseState
  /** The arguments of the call; undefined in the phase `early`. */
  readonly args: Arguments | undefined
}

/** An entry of the OpenAPI document: how a client proves who it is. */
export interface GuardSecurity {
  /** Name of the scheme in the document. */
  readonly name: string
  /** A security scheme object. */
  readonly scheme: Readonly<Record<string, unknown>>
  readonly scopes?: readonly string[]
}

/** Decides whether a call goes on: it throws to refuse, or returns `false`, or a promise of it, for 403. */
export interface Guard {
  (context: GuardContext): unknown
  readonly security?: GuardSecurity
  /** Statuses that it may answer with, and what they mean. */
  readonly responses?: Readonly<Record<number, string>>
  /** `early` (default): before the body is read. `bound`: with the arguments of the call. */
  readonly phase?: 'early' | 'bound'
}

/** Lets clients keep the answer for some seconds. */
export function httpCache(seconds: number): Guard {
  return ({ response }) => {
    response.headers.set('cache-control', `max-age=${seconds}`)
  }
}

/** Lets nobody keep the answer, an error included. */
export function noHttpCache(): Guard {
  return ({ response }) => {
    response.headers.set('cache-control', 'no-cache, no-store, must-revalidate')
    response.headers.set('pragma', 'no-cache')
    response.headers.set('expires', '0')
  }
}
