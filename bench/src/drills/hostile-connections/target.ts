import type { Deployment } from '../../servers/deployment.ts'
import type { HonestRequest } from './honest-load.ts'

/** The requests of honest and hostile clients to a service. */
export interface Target {
  readonly service: string
  /** Settings in addition to those of `npm start`. */
  readonly env: Readonly<Record<string, string>>
  prepare(place: Place): Promise<Requests>
}

/** A running service. */
export interface Place {
  readonly url: string
  readonly deployment: Deployment
  /** Runs a statement on its database. */
  execute(statement: string): Promise<readonly unknown[]>
}

/** The requests that honest and hostile clients send to a service. */
export interface Requests {
  /** The next request of an honest client. */
  readonly next: () => HonestRequest
  /** Requests for large answers. */
  readonly huge: readonly HostileRequest[]
  /** A request with a large body, and the largest size that the service accepts. */
  readonly slowBody: HostileRequest & { readonly bytes: number }
}

/** The request of a hostile client. */
export interface HostileRequest {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The script of `/docs`, as it is and compressed, and the API document. */
export const documents: readonly HostileRequest[] = [
  { path: '/docs/js/scalar.js' },
  { path: '/docs/js/scalar.js', headers: { 'accept-encoding': 'br' } },
  { path: '/openapi.json' },
]

/** Returns the values in turn. */
export function inTurn<T>(values: readonly T[]): () => T {
  let at = 0
  return () => {
    const value = values[at++ % values.length]
    if (value === undefined) throw new Error('there are no values')
    return value
  }
}

/** Requests of several kinds, in turn. */
export function mixed(kinds: readonly (() => HonestRequest)[]): () => HonestRequest {
  const next = inTurn(kinds)
  return () => next()()
}
