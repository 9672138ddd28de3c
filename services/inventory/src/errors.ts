import { defineError } from '@trestle/common/errors/define-error.ts'
import type { Missing } from '@trestle/common/lifecycle/readiness.ts'
import { MALFORMED_TEXTS } from './field-errors.ts'

// The errors that a client can see: status, `error.type` and `error.description` (reference: Error descriptions). Others are in
// request-errors.ts and field-errors.ts about wrong values, import-errors.ts about files, operator-errors.ts about operators, and
// packages/endpoints/src/error-texts.ts, where the framework finds them.

/** The request cannot be read. */
export const badRequest = defineError(400, 'BAD_REQUEST', 'The request is malformed.')
/** @param problem what the framework could not read, in its words */
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

/** A path that nothing answers, and what helps its client on. */
export interface UnknownPath {
  /** A path that exists and is spelt nearly so. */
  readonly meant?: string | undefined
  /** The page that shows all paths. */
  readonly page?: string | undefined
}

/** Nothing is at the path, or it is switched off. */
export const notFound = defineError(
  404,
  'RESOURCE_NOT_FOUND',
  ({ meant, page }: UnknownPath) =>
    `The resource you requested does not exist.${meant === undefined ? '' : ` Did you mean ${meant}?`}${page === undefined ? '' : ` ${page} shows all paths.`}`,
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

/** `Allow` lists the methods that the path takes. */
export const methodNotAllowed = defineError(405, 'NOT_ALLOWED', 'The method is not allowed here.')
export const notAcceptable = defineError(406, 'NOT_ACCEPTABLE', 'Accept must allow text/csv or application/x-ndjson.')
export const requestTimeout = defineError(408, 'BAD_REQUEST', 'The request took too long to arrive.')

export const duplicateSku = defineError(409, 'CONFLICT', 'A product with this sku already exists.')
export const productInStock = defineError(409, 'CONFLICT', 'The product still has stock.')
export const duplicateCode = defineError(409, 'CONFLICT', 'A location with this code already exists.')
export const locationHasStock = defineError(409, 'CONFLICT', 'The location still has stock.')
export const locationInactive = defineError(409, 'CONFLICT', 'The location is not active: it takes no stock.')
/** Less stock is available than the request takes; `details.available` says how much there is. */
export const insufficientStock = defineError(409, 'INSUFFICIENT_STOCK', 'There is not enough stock available.')
export const insufficientStockForLine = defineError(
  409,
  'INSUFFICIENT_STOCK',
  'There is not enough stock available for this line, after the lines before it.',
)
/** A count would leave less on hand than is reserved; `details.reserved` says how much that is. */
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
/** The limit is `QUANTITY_MAX` of stock/level-view.ts. The text has its digits, so that a search from an answer finds it. */
export const quantityAboveLimit = defineError(409, 'CONFLICT', 'The quantity on hand would be above 1000000000000.')
export const reservationCommitted = defineError(409, 'CONFLICT', 'The reservation is committed.')
export const reservationReleased = defineError(409, 'CONFLICT', 'The reservation is released.')
export const reservationExpired = defineError(409, 'CONFLICT', 'The reservation has expired.')
/** `details.remaining` is what remains of the reservation. */
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
/** `Retry-After` is what remains of the window. */
export const tooManyRequests = defineError(429, 'TOO_MANY_REQUESTS', 'Too many requests came from this address.')
export const headersTooLarge = defineError(431, 'BAD_REQUEST', 'The header of the request is too large.')

/** A defect of the service, which only its log explains. */
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
/** Answers `GET /ready`, and names what is missing. */
export const notReady = defineError(
  503,
  'SERVICE_UNAVAILABLE',
  (missing: Missing) =>
    'state' in missing ? `The process is ${missing.state}` : `The check of ${missing.check} fails`,
  { 'Retry-After': '1' },
)
/** A bounded queue is full, so the request did not begin. */
export const serverBusy = defineError(
  503,
  'SERVER_BUSY',
  'Too many imports, exports, long pages or large bodies are open at the moment.',
  { 'Retry-After': '5' },
)
