import type { BodySource } from '../body/body-source.ts'
import type { CallError } from '../errors.ts'

/** A request from one of the interfaces. Its functions do their work when they are called, and not before. */
export interface Incoming {
  readonly method: string
  /** The target of the request line as it was sent: path and query, or the absolute form. */
  readonly target: string
  /** How many leading parts of the path belong to the prefix under which the application is mounted. */
  readonly mountDepth: number
  /** A header by its lower-case name. Repeated headers are joined. */
  readonly header: (name: string) => string | undefined
  readonly headers: () => Headers
  /** Undefined without a body. */
  readonly body: BodySource | undefined
  /** Aborted when the client leaves. */
  readonly signal: () => AbortSignal
  /** The address of the other end of the connection; empty when the runtime does not know it. */
  readonly address: () => string
  /** Scheme and host that the client called, such as `http://localhost:8000`. */
  readonly origin: () => string
  /** The id that the server gave the request, if it did. */
  readonly id: string | undefined
  readonly raw: RawRequest
  /** Whether the handler has answered through the response of the server, so that its return value is not sent. */
  readonly isAnswered: () => boolean
  /** An error that the server reports in place of calling a handler. */
  readonly refusal: CallError | undefined
  /** Takes the errors of this request; undefined for the log of the application. */
  readonly log: ErrorLog | undefined
}

export interface RawRequest {
  /** Node's `IncomingMessage`, a web `Request`, or a Fastify request. */
  readonly request: unknown
  /** Further arguments of the server: Node's `ServerResponse`, Fastify's reply, `env` and `ctx` of a Worker. */
  readonly extra: readonly unknown[]
}

/** Takes a defect, with the step of the framework that met it. */
export type ErrorLog = (error: unknown, message: string) => void
