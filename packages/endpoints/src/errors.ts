import { NOTHING_HERE } from './error-texts.ts'

// The catalogue of the framework's own errors. error-texts.ts has the texts of single problems and values.

/** The stable `error.type` of each status (reference: Errors). */
const types: Readonly<Record<number, string>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHENTICATED',
  403: 'INSUFFICIENT_PRIVILEGES',
  404: 'RESOURCE_NOT_FOUND',
  405: 'NOT_ALLOWED',
  406: 'NOT_ACCEPTABLE',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  414: 'URI_TOO_LONG',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'TOO_MANY_REQUESTS',
  501: 'NOT_IMPLEMENTED',
}

const texts: Readonly<Record<number, string>> = {
  400: 'The request is malformed',
  401: 'Authentication is required',
  403: 'Access is refused',
  404: NOTHING_HERE,
  405: 'This URL does not take this method',
  406: 'No version of this resource is acceptable to the client',
  409: 'The request conflicts with the present state',
  413: 'The body is too large',
  414: 'The URL is too long',
  415: 'The media type, charset or encoding of the body is not supported',
  429: 'Too many requests',
  501: 'This method is not implemented',
}

/** The text of all other statuses. */
const UNEXPECTED = 'An unexpected error occurred'

/** How an error changes the default answer of its status. */
export interface CallErrorOptions {
  /** Replaces the type of the status. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Replaces the error envelope. It is encoded like the return value of a handler. */
  readonly body?: unknown
  /** Only for the log. */
  readonly cause?: unknown
}

/**
 * An error whose message the client sees.
 * @throws RangeError if `status` is not an error status
 */
export class CallError extends Error {
  readonly status: number
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown

  constructor(status = 500, message?: string, options: CallErrorOptions = {}) {
    super(message ?? texts[status] ?? UNEXPECTED, options.cause === undefined ? undefined : { cause: options.cause })
    if (!Number.isInteger(status) || status < 400 || status > 599)
      throw new RangeError(`${status} is not an error status`)
    this.name = new.target.name
    this.status = status
    this.type = options.type ?? types[status] ?? (status < 500 ? 'BAD_REQUEST' : 'SERVER_ERROR')
    this.headers = options.headers ?? {}
    this.body = options.body
  }
}

/** A problem with one value of a request, found by a schema or a signature. */
export interface Issue {
  /** The keys joined with dots, such as `limit` or `items.0.sku`. A positional is `path[0]`. */
  readonly path: string
  readonly message: string
}

/** The maximum number of issues in an answer. */
export const ISSUES_MAX = 20

/** 400, for one or more issues. The description names the first issue. It never repeats values of the request. */
export class ValidationError extends CallError {
  readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[]) {
    const [first] = issues
    super(400, first && `${first.path === '' ? 'The request' : first.path}: ${first.message}`, {
      type: 'VALIDATION_ERROR',
    })
    this.issues = issues.slice(0, ISSUES_MAX)
  }
}

/** The challenge of an answer with status 401 (RFC 9110, section 11.6.1). */
export interface AccessDeniedOptions {
  readonly scheme?: string
  readonly realm?: string
  readonly cause?: unknown
}

/** 401 with the challenge `WWW-Authenticate: Scheme realm="…"`. */
export class AccessDenied extends CallError {
  constructor(message?: string, { scheme = 'Auth', realm = 'endpoints', cause }: AccessDeniedOptions = {}) {
    const quoted = encodeUnsendable(realm, /[^\r\n\0\x20-\x7e]+/g).replaceAll(/["\\]/g, '\\$&')
    super(401, message, { headers: { 'www-authenticate': `${scheme} realm="${quoted}"` }, cause })
  }
}

/** 403: the client is known but not allowed to do this. */
export class Forbidden extends CallError {
  constructor(message?: string, options?: CallErrorOptions) {
    super(403, message, options)
  }
}

/** 404: there is nothing at this URL that the client may see. */
export class NotFound extends CallError {
  constructor(message?: string, options?: CallErrorOptions) {
    super(404, message, options)
  }
}

/** 405: the URL does not support the method. The header `Allow` lists the supported methods. */
export class MethodNotAllowed extends CallError {
  constructor(allow: readonly string[], message?: string) {
    super(405, message, { headers: { allow: allow.join(', ') } })
  }
}

/** 409: the state of the resource forbids the request, for example because a name is taken. */
export class Conflict extends CallError {
  constructor(message?: string, options?: CallErrorOptions) {
    super(409, message, options)
  }
}

/** 429: the client must wait. `retryAfter` is in seconds. */
export class TooManyRequests extends CallError {
  constructor(retryAfter?: number, message?: string) {
    super(429, message, retryAfter === undefined ? {} : { headers: { 'retry-after': String(Math.ceil(retryAfter)) } })
  }
}

/** 501: the server recognizes the request but does not support it. */
export class NotImplemented extends CallError {
  constructor(message?: string, options?: CallErrorOptions) {
    super(501, message, options)
  }
}

/** Ends a call with an answer, from anywhere in the code that the handler calls. It is not an error, so it is not logged. */
export class CallStop extends Error {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
    super(`stopped with ${status}`)
    this.name = new.target.name
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** Ends a call with a redirect, by default 302. */
export class Redirect extends CallStop {
  constructor(location: string | URL, status: 301 | 302 | 303 | 307 | 308 = 302) {
    super(status, undefined, { location: encodeUnsendable(String(location), /[^\r\n\0\x21-\x7e]+/g) })
  }
}

/** Percent-encodes characters that a header cannot contain. The pattern excludes line breaks, so that the header refuses them. */
function encodeUnsendable(text: string, pattern: RegExp): string {
  return text.toWellFormed().replaceAll(pattern, encodeURIComponent)
}
