export interface HttpErrorOptions {
  /** Further members of the body. The service's envelope places them. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** For the log only. */
  readonly cause?: unknown
}

/** An error that a client sees: status, stable code, message. Only the error handler writes it into a body. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: string, options: HttpErrorOptions & { readonly message: string }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause })
    this.status = status
    this.code = code
    this.details = options.details ?? {}
    this.headers = options.headers ?? {}
  }

  /**
   * Whether the error is about the input, which its sender has to change. Any other error is about the caller, about what others
   * do at the same time or too often, or about the service.
   */
  get isOfInput(): boolean {
    return INPUT_STATUSES.has(this.status)
  }
}

const INPUT_STATUSES: ReadonlySet<number> = new Set([400, 413, 414, 415, 422])

/** Makes an error of a catalogue. Its own members are for the API document. */
export interface ErrorFactory {
  (options?: HttpErrorOptions): HttpError
  readonly status: number
  readonly code: string
  readonly message: string
}

/** Makes an error whose text names values, such as a limit or a member of the request. */
export interface ErrorTemplate<Values> {
  (values: Values, options?: HttpErrorOptions): HttpError
  readonly status: number
  readonly code: string
}

/**
 * Declares an error: `export const userBanned = defineError(403, 'user_banned', 'User is banned')`. Where the text names values,
 * it is a function of them: `({ max }: { readonly max: number }) => \`at most ${max}\``.
 */
export function defineError(
  status: number,
  code: string,
  message: string,
  headers?: Record<string, string>,
): ErrorFactory
/** Declares an error whose text names values. Its factory takes the values first, and the options after them. */
export function defineError<Values extends object>(
  status: number,
  code: string,
  message: (values: Values) => string,
  headers?: Record<string, string>,
): ErrorTemplate<Values>
/** Makes the factory of either kind, which carries status and code for the API document. */
export function defineError<Values extends object>(
  status: number,
  code: string,
  message: string | ((values: Values) => string),
  headers?: Record<string, string>,
): ErrorFactory | ErrorTemplate<Values> {
  const create = (text: string, options: HttpErrorOptions = {}) =>
    new HttpError(status, code, { ...options, message: text, headers: { ...headers, ...options.headers } })
  if (typeof message === 'string') {
    return Object.assign((options?: HttpErrorOptions) => create(message, options), { status, code, message })
  }
  return Object.assign((values: Values, options?: HttpErrorOptions) => create(message(values), options), {
    status,
    code,
  })
}

/** A copy of the error, with its stack, whose body has more members. */
export function withDetails(error: HttpError, more: Readonly<Record<string, unknown>>): HttpError {
  const { status, code, message, headers, cause } = error
  const detailed = new HttpError(status, code, { message, headers, cause, details: { ...error.details, ...more } })
  return Object.assign(detailed, { stack: error.stack })
}

/** A copy of the error, with its stack, whose answer has more headers. */
export function withHeaders(error: HttpError, headers: Readonly<Record<string, string>>): HttpError {
  const { status, code, message, details, cause } = error
  const named = new HttpError(status, code, { message, details, cause, headers: { ...error.headers, ...headers } })
  return Object.assign(named, { stack: error.stack })
}
