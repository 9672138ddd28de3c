/** What a thrown error may carry beside its code. */
export interface HttpErrorOptions {
  /** Takes the place of the catalogue's text. For clients: no internals. */
  readonly message?: string
  /** Further members of the body, for the service's envelope to place. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** For the log only. */
  readonly cause?: unknown
}

/** An error that a client sees: status, stable code, text. Only the error-handler plugin writes it into a body. */
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
}

/** Makes one error of a catalogue; its own members say what the API document needs. */
export interface ErrorFactory {
  (options?: HttpErrorOptions): HttpError
  readonly status: number
  readonly code: string
  readonly message: string
}

/** Declares an error: `export const userBanned = defineError(403, 'user_banned', 'User is banned')`. */
export function defineError(
  status: number,
  code: string,
  message: string,
  headers?: Record<string, string>,
): ErrorFactory {
  const create = (options: HttpErrorOptions = {}) =>
    new HttpError(status, code, { message, ...options, headers: { ...headers, ...options.headers } })
  return Object.assign(create, { status, code, message })
}
