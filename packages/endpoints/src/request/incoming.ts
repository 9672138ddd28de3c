import type { BodySource } from '../body/body-source.ts'
import type { CallError } from '../errors.ts'

/** A request from one of the interfaces. Its functions do their work only when they are called. */
export interface Incoming {
  readonly method: string
  /** The target of the request line as the client sent it: path and query, or the absolute form. */
  readonly target: string
  /** The number of leading path parts that belong to the prefix where the application is mounted. */
  readonly mountDepth: number
  /** Returns a header by its lower-case name. Repeated headers are joined. */
  readonly header: (name: string) => string | undefined
  readonly headers: () => Headers
  /** `undefined` if the request has no body. */
  readonly body: BodySource | undefined
  /** Aborted when the client leaves. */
  readonly signal: () => AbortSignal
  /** Returns the address of the other end of the connection, or an empty text if the runtime does not provide it. */
  readonly address: () => string
  /** Returns the scheme and host that the client called, such as `http://localhost:8000`. */
  readonly origin: () => string
  /** The id that the server gave the request, if any. */
  readonly id: string | undefined
  readonly raw: RawRequest
  /** Returns whether the handler has answered through the server's own response. Its return value is then not sent. */
  readonly isAnswered: () => boolean
  /** An error that the server has found. The application answers with it instead of calling a handler. */
  readonly refusal: CallError | undefined
  /** Receives the errors of this request. If it is `undefined`, the log of the application receives them. */
  readonly log: ErrorLog | undefined
}

export interface RawRequest {
  /** Node's `IncomingMessage`, a web `Request`, or a Fastify request. */
  readonly request: unknown
  /** Further arguments of the server: Node's `ServerResponse`, Fastify's reply, or `env` and `ctx` of a Worker. */
  readonly extra: readonly unknown[]
}

/** Logs a defect. `message` names the step of the framework that failed. */
export type ErrorLog = (error: unknown, message: string) => void
