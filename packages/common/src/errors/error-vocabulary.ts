import type { FastifyRequest } from 'fastify'
import type { HttpError } from './define-error.ts'

/** The places in a request that a schema refused. */
export interface InvalidInput {
  /** `body`, `params`, `querystring` or `headers`. */
  readonly context: string
  readonly issues: readonly InvalidPlace[]
}

/** The form of that place, as the schema states it. */
interface InvalidPlace {
  readonly path: readonly string[]
  readonly message: string
  /** Zod's code of the issue. */
  readonly keyword: string
  /** Zod's other members of the issue. */
  readonly params: Readonly<Record<string, unknown>>
}

/** The errors of a service for what fails before or outside its routes. */
export interface ErrorVocabulary {
  /** The body of an error, in the service's envelope. `request` is undefined when the bytes were no HTTP request. */
  envelope(error: HttpError, request: FastifyRequest | undefined): unknown
  /** The text of that body for requests that reach no route. By default JSON. */
  layOut?(body: unknown, status: number): string
  /** A request that a schema refused. */
  invalid(input: InvalidInput, request: FastifyRequest): HttpError
  /** A body that cannot be parsed, a path with a broken escape, a broken header. */
  malformed(cause: unknown): HttpError
  /** A body above the limit of its route. */
  tooLarge(cause: unknown, request: FastifyRequest): HttpError
  /** A URL longer than 8 KiB. By default `malformed`. */
  uriTooLong?(cause: unknown): HttpError
  unsupportedMediaType(cause: unknown): HttpError
  notFound(): HttpError
  /** The path has routes for these methods only. By default `notFound`. */
  methodNotAllowed?(allow: readonly string[]): HttpError
  /** A server that the service depends on does not answer. */
  unavailable(cause: unknown): HttpError
  /** The process has no room for the request. */
  busy(): HttpError
  /** The handler took too long. */
  timedOut(cause: unknown): HttpError
  /** The body did not arrive in time. By default `timedOut`. */
  bodyTimedOut?(cause: unknown): HttpError
  /** Everything else: a defect. `request` is undefined outside of requests. */
  unexpected(cause: unknown, request?: FastifyRequest): HttpError
  /** Whether an error means that a dependency does not answer. */
  isUnavailable(error: unknown): boolean
}
