import { defineError, type HttpError } from '@trestle/common/errors/define-error.ts'

// Every error that a client can see: status, `error.type` and `error.description` (reference: Error descriptions).

const ISSUES_MAX = 20

/** One value of a request that is not valid. */
export interface Issue {
  /** Keys joined with dots; empty for the request as a whole. */
  readonly path: string
  readonly message: string
}

/** The request cannot be read. */
export const badRequest = defineError(400, 'BAD_REQUEST', 'The request is malformed.')
/** @param fault what the framework could not read, in its words */
export const malformedRequest = (fault: string, cause: unknown) => badRequest({ message: `${fault}.`, cause })
export const bodyEndedEarly = defineError(400, 'BAD_REQUEST', 'The body ended early.')

const invalidValues = defineError(400, 'VALIDATION_ERROR', 'The request has invalid values.')

/** The request is well-formed and has wrong content. The text names the first issue, and never repeats a value. */
export function validationError(issues: readonly [Issue, ...Issue[]]): HttpError {
  const [{ path, message }] = issues
  return invalidValues({
    message: `${path === '' ? 'The request' : path}: ${message}`,
    details: { issues: issues.slice(0, ISSUES_MAX) },
  })
}

/** `details.report` says what became of each record. */
export const importRefused = defineError(
  400,
  'VALIDATION_ERROR',
  'Nothing was stored, because not every record could be.',
)

export const fileNotUtf8 = defineError(400, 'BAD_REQUEST', 'The file is not UTF-8.')
export const headerMissing = defineError(400, 'BAD_REQUEST', 'The file has no header.')
export const headerBroken = defineError(400, 'BAD_REQUEST', 'The header of the file has quotes that are not in order.')
export const skuColumnMissing = defineError(400, 'BAD_REQUEST', 'The file has no column sku.')
export const attributesColumnMissing = defineError(
  400,
  'BAD_REQUEST',
  'The file must have a column attributes, or columns such as attributes.color.',
)
export const columnTwice = (column: string) => badRequest({ message: `The column ${column} is there twice.` })
export const columnUnknown = (column: string) => badRequest({ message: `The column ${column} is not known.` })

const challenge = (more = '') => ({ 'WWW-Authenticate': `Bearer realm="inventory"${more}` })
export const missingToken = defineError(401, 'UNAUTHENTICATED', 'An access token is required.', challenge())
export const invalidToken = defineError(
  401,
  'UNAUTHENTICATED',
  'The access token is not valid.',
  challenge(', error="invalid_token"'),
)

const scopeMissing = (scope: string) =>
  defineError(
    403,
    'INSUFFICIENT_PRIVILEGES',
    `The access token has not the scope ${scope}.`,
    challenge(`, error="insufficient_scope", scope="${scope}"`),
  )
export const readScopeMissing = scopeMissing('inventory:read')
export const writeScopeMissing = scopeMissing('inventory:write')
export const originNotAllowed = defineError(403, 'INSUFFICIENT_PRIVILEGES', 'Pages of this origin may not call.')

export const notFound = defineError(404, 'RESOURCE_NOT_FOUND', 'The resource you requested does not exist.')
export const productNotFound = defineError(404, 'RESOURCE_NOT_FOUND', 'The product you requested does not exist.')
export const userNotFound = defineError(404, 'RESOURCE_NOT_FOUND', 'The user you requested does not exist.')
export const locationNotFound = defineError(404, 'RESOURCE_NOT_FOUND', 'The location you requested does not exist.')
export const movementNotFound = defineError(404, 'RESOURCE_NOT_FOUND', 'The movement you requested does not exist.')
export const reservationNotFound = defineError(
  404,
  'RESOURCE_NOT_FOUND',
  'The reservation you requested does not exist.',
)

/** `Allow` lists the methods that the path takes. */
export const methodNotAllowed = defineError(405, 'NOT_ALLOWED', 'The method is not allowed here.')
export const notAcceptable = defineError(406, 'NOT_ACCEPTABLE', 'The answer would be text/csv or application/x-ndjson.')
export const requestTimeout = defineError(408, 'BAD_REQUEST', 'The request took too long to arrive.')

export const duplicateSku = defineError(409, 'CONFLICT', 'A product with this sku already exists.')
export const productInStock = defineError(409, 'CONFLICT', 'There is still stock of this product.')
export const duplicateCode = defineError(409, 'CONFLICT', 'A location with this code already exists.')
export const locationHasStock = defineError(409, 'CONFLICT', 'The location still has stock.')
export const locationInactive = defineError(409, 'CONFLICT', 'The location is not active: it takes no stock.')
/** `details.available` is the available quantity. */
export const insufficientStock = defineError(409, 'INSUFFICIENT_STOCK', 'There is not enough stock available.')
/** The same for a line of a batch that is not the first. */
export const insufficientStockForLine = defineError(
  409,
  'INSUFFICIENT_STOCK',
  'There is not enough stock available for this line, after the lines before it.',
)
/** `details.current` is the quantity on hand. */
export const staleQuantity = defineError(409, 'STALE_QUANTITY', 'The quantity on hand is not the expected one.')
/** The same for a line of a batch that is not the first. */
export const staleQuantityForLine = defineError(
  409,
  'STALE_QUANTITY',
  'The quantity on hand, after the lines before this one, is not the expected one.',
)
export const quantityAboveLimit = defineError(409, 'CONFLICT', 'The quantity on hand would be above 1000000000000.')
export const reservationCommitted = defineError(409, 'CONFLICT', 'The reservation is committed.')
export const reservationReleased = defineError(409, 'CONFLICT', 'The reservation is released.')
export const reservationExpired = defineError(409, 'CONFLICT', 'The reservation has expired.')
/** `details.remaining` is what remains of the reservation. */
export const aboveRemaining = defineError(409, 'CONFLICT', 'Less than this quantity is left of the reservation.')
export const keyRunning = defineError(
  409,
  'CONFLICT',
  'A request with this Idempotency-Key is still being carried out.',
  { 'Retry-After': '1' },
)

export const productChanged = defineError(412, 'PRECONDITION_FAILED', 'The product has another version by now.')
export const locationChanged = defineError(412, 'PRECONDITION_FAILED', 'The location has another version by now.')

export const payloadTooLarge = defineError(413, 'PAYLOAD_TOO_LARGE', 'The request body is too large.')
export const fileTooLarge = (bytesMax: number) =>
  payloadTooLarge({ message: `The file is larger than ${bytesMax} bytes.` })
export const tooManyColumns = (columnsMax: number) =>
  payloadTooLarge({ message: `The file has more than ${columnsMax} columns.` })
export const recordTooLong = (line: number, lengthMax: number) =>
  payloadTooLarge({ message: `The record on line ${line} is longer than ${lengthMax} characters.` })
export const uriTooLong = defineError(414, 'URI_TOO_LONG', 'The URL is too long.')
export const unsupportedMediaType = defineError(
  415,
  'UNSUPPORTED_MEDIA_TYPE',
  'The body must be application/json or application/x-www-form-urlencoded, in UTF-8 and without Content-Encoding.',
)
export const unsupportedFileType = defineError(
  415,
  'UNSUPPORTED_MEDIA_TYPE',
  'The body must be text/csv or application/x-ndjson, in UTF-8 and without Content-Encoding.',
)
export const keyMismatch = defineError(422, 'VERIFICATION_ERROR', 'This Idempotency-Key was used for another request.')
export const preconditionRequired = defineError(428, 'PRECONDITION_REQUIRED', 'This change needs the header If-Match.')
/** `Retry-After` is what remains of the window. */
export const tooManyRequests = defineError(429, 'TOO_MANY_REQUESTS', 'Too many requests came from this address.')
export const headersTooLarge = defineError(431, 'BAD_REQUEST', 'The header of the request is too large.')

/** A defect of the service. */
export const serverError = defineError(
  500,
  'SERVER_ERROR',
  'An internal error has occurred while processing your request.',
)
export const notImplemented = defineError(501, 'NOT_IMPLEMENTED', 'The method is not implemented.')
/** The database is away, too slow or too contended. */
export const serviceUnavailable = defineError(
  503,
  'SERVICE_UNAVAILABLE',
  'The service is not available at the moment. Please try again.',
  { 'Retry-After': '1' },
)
/** A bounded queue is full. */
export const serverBusy = defineError(
  503,
  'SERVER_BUSY',
  'As many imports, exports, long pages or large bodies are open as are allowed at a time.',
  { 'Retry-After': '5' },
)
