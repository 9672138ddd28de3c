import type { BodySource } from '../body/body-source.ts'
import type { CallError } from '../errors.ts'

/** A request as one of the interfaces hands it over. Whatever costs something is made when it is asked for. */
export interface Incoming {
  readonly method: string
  /** The raw target of the request line: path and query, or the absolute form. */
  readonly target: string
  /** How many leading parts of the path belong to the place where the application is mounted. */
  readonly mountDepth: number
  /** A header by its lower-case name; several of one name are joined. */
  readonly header: (name: string) => string | undefined
  readonly headers: () => Headers
  /** Undefined when there is none. */
  readonly body: BodySource | undefined
  /** Aborted when the client goes away. */
  readonly signal: () => AbortSignal
  /** Address of the other end of the connection; empty where the runtime does not tell. */
  readonly address: () => string
  /** Scheme and host that the client called, such as `http://localhost:8000`. */
  readonly origin: () => string
  /** The id that the server gave; undefined where a new one is to be made. */
  readonly id: string | undefined
  readonly raw: RawRequest
  /** Why the server refuses what the application would have taken: said instead of calling a handler. */
  readonly refusal: CallError | undefined
  /** Takes the errors of this request; undefined where that is the application's affair. */
  readonly log: ErrorLog | undefined
}

/** The request in the terms of what serves it. */
export interface RawRequest {
  /** Node's `IncomingMessage`, a web `Request`, or a Fastify request. */
  readonly request: unknown
  /** What comes with it: Node's `ServerResponse`, Fastify's reply, `env` and `ctx` of a Worker. */
  readonly extra: readonly unknown[]
}

export type ErrorLog = (error: unknown, message: string) => void
