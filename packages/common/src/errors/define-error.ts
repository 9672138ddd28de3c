export interface HttpErrorOptions {
  /** Further members of the body. The service's envelope decides where they appear. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** For the log only. */
  readonly cause?: unknown
}

/** An error that is shown to a client: status, stable code, message. Only the error handler writes it into a body. */
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
   * Whether the error is about the input, which the sender must change. Any other error is about the caller, about concurrent or
   * too frequent requests, or about the service.
   */
  get isOfInput(): boolean {
    return INPUT_STATUSES.has(this.status)
  }
}

const INPUT_STATUSES: ReadonlySet<number> = new Set([400, 413, 414, 415, 422])

/** Creates an error of a catalogue. Its properties are for the API document. */
export interface ErrorFactory {
  (options?: HttpErrorOptions): HttpError
  readonly status: number
  readonly code: string
  readonly message: string
}

/** Creates an error with values in its text, such as a limit or a member of the request. */
export interface ErrorTemplate<Values> {
  (values: Values, options?: HttpErrorOptions): HttpError
  readonly status: number
  readonly code: string
}

/**
 * Declares an error: `export const userBanned = defineError(403, 'user_banned', 'User is banned')`. If the text contains values,
 * pass a function of the values: `({ max }: { readonly max: number }) => \`at most ${max}\``.
 */
export function defineError(
  status: number,
  code: string,
  message: string,
  headers?: Record<string, string>,
): ErrorFactory
/** Declares an error with values in its text. Its factory takes the values first, and then the options. */
export function defineError<Values extends object>(
  status: number,
  code: string,
  message: (values: Values) => string,
  headers?: Record<string, string>,
): ErrorTemplate<Values>
/** Creates the factory of either kind. The factory has the status and the code as properties, for the API document. */
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

/** Returns a copy of the error, with the same stack and with additional members in its body. */
export function withDetails(error: HttpError, more: Readonly<Record<string, unknown>>): HttpError {
  const { status, code, message, headers, cause } = error
  const detailed = new HttpError(status, code, { message, headers, cause, details: { ...error.details, ...more } })
  return Object.assign(detailed, { stack: error.stack })
}

/** Returns a copy of the error, with the same stack and with additional response headers. */
export function withHeaders(error: HttpError, headers: Readonly<Record<string, string>>): HttpError {
  const { status, code, message, details, cause } = error
  const named = new HttpError(status, code, { message, details, cause, headers: { ...error.headers, ...headers } })
  return Object.assign(named, { stack: error.stack })
}
