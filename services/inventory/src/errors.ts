import { defineError, type HttpError } from '@trestle/common/errors/define-error.ts'
import type { Missing } from '@trestle/common/lifecycle/readiness.ts'
import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { ISSUES_MAX, MALFORMED_TEXTS } from './field-errors.ts'

// The errors that a client can see: status, `error.type` and `error.description` (reference: Error descriptions).
// `field-errors.ts` has the texts about one value, and `packages/endpoints/src/error-texts.ts` the errors of the framework.

export const badRequest = defineError(400, 'BAD_REQUEST', 'The request is malformed.')
/** @param problem the problem of the request, as a text of the framework */
export const malformedRequest = defineError(
  400,
  'BAD_REQUEST',
  ({ problem }: { readonly problem: string }) => MALFORMED_TEXTS[problem] ?? badRequest.message,
)

const challenge = (more = '') => ({ 'WWW-Authenticate': `Bearer realm="inventory"${more}` })
export const missingToken = defineError(401, 'UNAUTHENTICATED', 'An access token is required.', challenge())
const INVALID = challenge(', error="invalid_token"')
export const invalidToken = defineError(401, 'UNAUTHENTICATED', 'The access token is not valid.', INVALID)

const scopeChallenge = (scope: string) => challenge(`, error="insufficient_scope", scope="${scope}"`)
export const readScopeMissing = defineError(
  403,
  'INSUFFICIENT_PRIVILEGES',
  'The access token lacks the scope inventory:read.',
  scopeChallenge('inventory:read'),
)
export const writeScopeMissing = defineError(
  403,
  'INSUFFICIENT_PRIVILEGES',
  'The access token lacks the scope inventory:write.',
  scopeChallenge('inventory:write'),
)
export const originNotAllowed = defineError(403, 'INSUFFICIENT_PRIVILEGES', 'This origin is not allowed.')

/** The hints for a client that requested a path without a controller. */
export interface UnknownPath {
  /** An existing path with a similar name. */
  readonly suggestion?: string | undefined
  /** The page that lists all paths. */
  readonly page?: string | undefined
}

export const notFound = defineError(
  404,
  'RESOURCE_NOT_FOUND',
  ({ suggestion, page }: UnknownPath) =>
    `The resource you requested does not exist.${suggestion === undefined ? '' : ` Did you mean ${suggestion}?`}${page === undefined ? '' : ` ${page} shows all paths.`}`,
)
export const productNotFound = defineError(404, 'RESOURCE_NOT_FOUND', 'The product you requested does not exist.')
export const userNotFound = defineError(404, 'RESOURCE_NOT_FOUND', 'The user you requested does not exist.')
export const locationNotFound = defineError(404, 'RESOURCE_NOT_FOUND', 'The location you requested does not exist.')
export const movementNotFound = defineError(404, 'RESOURCE_NOT_FOUND', 'The movement you requested does not exist.')
export const importNotFound = defineError(404, 'RESOURCE_NOT_FOUND', 'The import you requested does not exist.')
export const reservationNotFound = defineError(
  404,
  'RESOURCE_NOT_FOUND',
  'The reservation you requested does not exist.',
)

/** The header `Allow` lists the allowed methods. */
export const methodNotAllowed = defineError(405, 'NOT_ALLOWED', 'The method is not allowed here.')
export const notAcceptable = defineError(406, 'NOT_ACCEPTABLE', 'Accept must allow text/csv or application/x-ndjson.')
export const requestTimeout = defineError(408, 'BAD_REQUEST', 'The request took too long to arrive.')

export const duplicateSku = defineError(409, 'CONFLICT', 'A product with this sku already exists.')
export const productInStock = defineError(409, 'CONFLICT', 'The product still has stock.')
export const duplicateCode = defineError(409, 'CONFLICT', 'A location with this code already exists.')
export const locationHasStock = defineError(409, 'CONFLICT', 'The location still has stock.')
export const locationInactive = defineError(409, 'CONFLICT', 'The location is not active: it takes no stock.')
/** `details.available` is the available quantity. */
export const insufficientStock = defineError(409, 'INSUFFICIENT_STOCK', 'There is not enough stock available.')
export const insufficientStockForLine = defineError(
  409,
  'INSUFFICIENT_STOCK',
  'There is not enough stock available for this line, after the lines before it.',
)
/** A count would make the quantity on hand smaller than the reserved quantity, which is `details.reserved`. */
export const countBelowReserved = defineError(
  409,
  'INSUFFICIENT_STOCK',
  'More is reserved than was counted: release or commit reservations first.',
)
/** `details.current` is the quantity on hand. */
export const staleQuantity = defineError(409, 'STALE_QUANTITY', 'The quantity on hand is not the expected one.')
export const staleQuantityForLine = defineError(
  409,
  'STALE_QUANTITY',
  'The quantity on hand, after the lines before this one, is not the expected one.',
)
/** The limit is `QUANTITY_MAX` of `stock/level-view.ts`, written as digits so that the text of an answer can be searched for. */
export const quantityAboveLimit = defineError(409, 'CONFLICT', 'The quantity on hand would be above 1000000000000.')
export const reservationCommitted = defineError(409, 'CONFLICT', 'The reservation is committed.')
export const reservationReleased = defineError(409, 'CONFLICT', 'The reservation is released.')
export const reservationExpired = defineError(409, 'CONFLICT', 'The reservation has expired.')
/** `details.remaining` is the remaining quantity of the reservation. */
export const aboveRemaining = defineError(409, 'CONFLICT', 'The reservation has less left than this quantity.')
export const keyRunning = defineError(409, 'CONFLICT', 'A request with this Idempotency-Key is still running.', {
  'Retry-After': '1',
})

export const productChanged = defineError(412, 'PRECONDITION_FAILED', 'The product was changed in the meantime.')
export const locationChanged = defineError(412, 'PRECONDITION_FAILED', 'The location was changed in the meantime.')

export const payloadTooLarge = defineError(413, 'PAYLOAD_TOO_LARGE', 'The request body is too large.')
export const uriTooLong = defineError(414, 'URI_TOO_LONG', 'The URL is too long.')
export const unsupportedMediaType = defineError(
  415,
  'UNSUPPORTED_MEDIA_TYPE',
  'The body must be application/json or application/x-www-form-urlencoded, in UTF-8 and without Content-Encoding.',
)
export const keyMismatch = defineError(422, 'VERIFICATION_ERROR', 'This Idempotency-Key was used for another request.')
export const preconditionRequired = defineError(428, 'PRECONDITION_REQUIRED', 'This change needs the header If-Match.')
/** `Retry-After` is the remaining time of the window in seconds. */
export const tooManyRequests = defineError(429, 'TOO_MANY_REQUESTS', 'Too many requests came from this address.')
export const headersTooLarge = defineError(431, 'BAD_REQUEST', 'The header of the request is too large.')

/** A defect of the service. Only the log explains it. */
export const serverError = defineError(
  500,
  'SERVER_ERROR',
  'An internal error has occurred while processing your request.',
)
export const notImplemented = defineError(501, 'NOT_IMPLEMENTED', 'The method is not implemented.')
/** The database is unavailable, too slow or has too many conflicts. */
export const serviceUnavailable = defineError(
  503,
  'SERVICE_UNAVAILABLE',
  'The service is not available at the moment. Please try again.',
  { 'Retry-After': '1' },
)
/** The answer of `GET /ready`. It names the missing part. */
export const notReady = defineError(
  503,
  'SERVICE_UNAVAILABLE',
  (missing: Missing) =>
    'state' in missing ? `The process is ${missing.state}` : `The check of ${missing.check} fails`,
  { 'Retry-After': '1' },
)
/** A queue with a limit is full, so the request did not begin. */
export const serverBusy = defineError(
  503,
  'SERVER_BUSY',
  'Too many imports, exports, long pages or large bodies are open at the moment.',
  { 'Retry-After': '5' },
)

// The errors of operators (console reference: Errors of operators).

export const idempotencyKeyMissing = defineError(
  400,
  'IDEMPOTENCY_KEY_REQUIRED',
  'A change of an operator needs an Idempotency-Key.',
)
export const operatorUnauthorized = defineError(
  401,
  'OPERATOR_UNAUTHORIZED',
  'The operator key or the access token is missing, malformed or not good.',
  { 'WWW-Authenticate': 'Bearer realm="inventory"' },
)
/** `details` contains the action and the effective role. */
export const operatorForbidden = defineError(403, 'OPERATOR_FORBIDDEN', 'The role of the operator may not do this.')

// Errors about wrong values that no schema refuses (reference: Error members). The text consists of the path of the value, a
// colon, and the problem.

export interface Issue {
  /** Keys joined with dots. Empty for the request as a whole. */
  readonly path: string
  readonly message: string
}

const invalidValues = defineError(400, 'VALIDATION_ERROR', ({ text }: { readonly text: string }) => text)

const WHOLE_REQUEST = 'The request'

/** The request is well-formed, but its content is wrong. The text names the first issue and never repeats a value. */
export function validationError(issues: readonly [Issue, ...Issue[]]): HttpError {
  const [{ path, message }] = issues
  const text = `${path === '' ? WHOLE_REQUEST : path}: ${message}`
  return invalidValues({ text }, { details: { issues: issues.slice(0, ISSUES_MAX) } })
}

export const attributesInvalid = (reason: string): HttpError =>
  validationError([{ path: 'attributes', message: reason }])
export const flattenInvalid = (reason: string): HttpError => validationError([{ path: 'flatten', message: reason }])

/** Returns the error about one value. @param text the path of the value, a colon, and the problem */
function invalidValue(text: string): HttpError {
  const colon = text.indexOf(': ')
  const path = text.slice(0, colon)
  return validationError([{ path: path === WHOLE_REQUEST ? '' : path, message: text.slice(colon + 2) }])
}

export const idempotencyKeyMalformed = (): HttpError =>
  invalidValue('Idempotency-Key: must be 1 to 255 visible characters of ASCII')
export const limitTooHigh = (limitMax: number): HttpError =>
  validationError([{ path: 'limit', message: VALUE_TEXTS.tooBig({ limit: limitMax }) }])
export const cursorForeign = (): HttpError =>
  invalidValue('cursor: must come from the Link header of a page of this list')
export const flattenWithoutCsv = (): HttpError => invalidValue('flatten: is for CSV')
export const tooManyFilters = (filtersMax: number): HttpError =>
  invalidValue(`The request: must have at most ${filtersMax} filters`)
export const filtersTooLong = (lengthMax: number): HttpError =>
  invalidValue(`The request: must have at most ${lengthMax} characters of filters, URL-encoded`)
export const tooManyFilterValues = (valuesMax: number): HttpError =>
  invalidValue(`The request: must have at most ${valuesMax} values in all lists`)
export const mergedToNull = (): HttpError => invalidValue('attributes: must not be null')
export const mergedTooLarge = (bytesMax: number): HttpError =>
  invalidValue(`attributes: must stay at most ${bytesMax} bytes of JSON`)
export const mergedTooDeep = (levelsMax: number): HttpError =>
  invalidValue(`attributes: must stay nested at most ${levelsMax} levels deep`)
export const mergedTooManyKeys = (keysMax: number): HttpError =>
  invalidValue(`attributes: must stay at most ${keysMax} keys in all`)

// Errors of product files, and texts for records in a report.

/** `details.report` contains the outcome of each record. */
export const importRefused = defineError(
  400,
  'VALIDATION_ERROR',
  'Nothing was stored, because not every record could be.',
)
export const fileNotUtf8 = defineError(400, 'BAD_REQUEST', 'The file is not UTF-8.')
export const headerMissing = defineError(400, 'BAD_REQUEST', 'The file has no header.')
export const headerBroken = defineError(400, 'BAD_REQUEST', 'The header of the file has misplaced quotes.')
export const skuColumnMissing = defineError(400, 'BAD_REQUEST', 'The file has no column sku.')
export const attributesColumnMissing = defineError(
  400,
  'BAD_REQUEST',
  'The file must have a column attributes, or columns such as attributes.color.',
)
export const columnTwice = defineError(
  400,
  'BAD_REQUEST',
  ({ column }: { readonly column: string }) => `The file has the column "${column}" twice.`,
)
/** An unknown column, and a similar known column. `stock` is `true` if the name suggests a quantity of stock. */
export interface UnknownColumn {
  readonly column: string
  readonly suggestion: string | undefined
  readonly stock: boolean
}
export const columnsUnknown = defineError(
  400,
  'BAD_REQUEST',
  ({ unknown }: { readonly unknown: readonly UnknownColumn[] }) => {
    const names = unknown.map(
      ({ column, suggestion }) => `"${column}"${suggestion === undefined ? '' : ` (did you mean "${suggestion}"?)`}`,
    )
    const subject = names.length === 1 ? `The column ${names[0]} is` : `The columns ${names.join(', ')} are`
    const advice = ' A file of products has no stock: POST /movements or the command inventory stock receive adds it.'
    return `${subject} not known.${unknown.some(({ stock }) => stock) ? advice : ''}`
  },
)
export const fileTooLarge = defineError(
  413,
  'PAYLOAD_TOO_LARGE',
  ({ bytesMax }: { readonly bytesMax: number }) => `The file is larger than ${bytesMax} bytes.`,
)
export const tooManyColumns = defineError(
  413,
  'PAYLOAD_TOO_LARGE',
  ({ columnsMax }: { readonly columnsMax: number }) => `The file has more than ${columnsMax} columns.`,
)
export const recordTooLong = defineError(
  413,
  'PAYLOAD_TOO_LARGE',
  ({ lengthMax, ...span }: LineSpan & { readonly lengthMax: number }) =>
    `The record on line ${span.line} is longer than ${lengthMax} characters.${span.lastLine > span.line ? ` ${openQuote(span)}` : ''}`,
)
export const unsupportedFileType = defineError(
  415,
  'UNSUPPORTED_MEDIA_TYPE',
  'The body must be text/csv or application/x-ndjson, in UTF-8 and without Content-Encoding.',
)

/** The lines of a record. A quote that opens at `quoteLine` may extend the record over several lines. */
interface LineSpan {
  readonly line: number
  readonly quoteLine: number
  readonly lastLine: number
}

function openQuote({ quoteLine, lastLine }: Pick<LineSpan, 'quoteLine' | 'lastLine'>): string {
  return `The quote that opens on line ${quoteLine} takes in everything up to line ${lastLine}.`
}

/** The texts for records in the report of an import. They are not thrown. */
export const RECORD_TEXTS = {
  member: (path: string, text: string) => `${path}: ${text}`,
  noJson: 'The line is not JSON.',
  noObject: 'The line must be a JSON object.',
  quotes: 'The record has misplaced quotes.',
  /** Appended to the text of a broken record that spans several lines. */
  openQuote,
  namelessValue: ({ place }: { readonly place: number }) =>
    `The record has a value in column ${place}, which has no name.`,
  wrongFields: ({ fields, columns }: { readonly fields: number; readonly columns: number }) =>
    `The record has ${fields} fields, the header has ${columns}.`,
  leadsThroughScalar: 'leads through a value that is not an object',
  notStored: 'The product could not be stored.',
} as const

/** The texts of operators' failed imports. They are not thrown, but stored as the reason of the failure. */
export const IMPORT_TEXTS = {
  givenUp: 'The import could not be finished. The report counts what was stored.',
} as const
