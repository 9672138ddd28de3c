import { z } from 'zod'
import type { Deployment } from '../../servers/deployment.ts'
import type { HonestRequest } from './honest-load.ts'

export interface Target {
  readonly service: string
  /** Settings in addition to those of `npm start`. */
  readonly env: Readonly<Record<string, string>>
  prepare(place: {
    readonly url: string
    readonly deployment: Deployment
    /** Runs a statement on its database. */
    execute(statement: string): Promise<readonly unknown[]>
  }): Promise<Requests>
}

/** The requests that honest and hostile clients send to a service. */
export interface Requests {
  readonly next: () => HonestRequest
  readonly huge: readonly HostileRequest[]
  /** A request with a large body, and the largest size that the service accepts. */
  readonly slowBody: HostileRequest & { readonly bytes: number }
}

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

export function inTurn<T>(values: readonly T[]): () => T {
  let at = 0
  return () => {
    const value = values[at++ % values.length]
    if (value === undefined) throw new Error('there are no values')
    return value
  }
}

export function mixed(kinds: readonly (() => HonestRequest)[]): () => HonestRequest {
  const next = inTurn(kinds)
  return () => next()()
}

/** The kinds of hostile connections. */
export const KINDS = [
  'never-read',
  'read-slowly',
  'send-ahead',
  'write-heads-slowly',
  'write-bodies-slowly',
  'half-open',
  'read-all',
] as const
/** A kind of hostile connection. */
export type Kind = (typeof KINDS)[number]

/** The task of the process that holds the connections. */
export const Attack = z.object({
  port: z.number(),
  connections: z.number(),
  /** The kinds of the connections, in equal parts. */
  kinds: z.array(z.enum(KINDS)),
  huge: z.array(z.string()),
  /** A request with a large body that never ends: its head, and how much of the body is sent at once. */
  slowBody: z.object({ head: z.string(), bytes: z.number() }),
})
/** The parsed task of that process. */
export type Attack = z.output<typeof Attack>
