import { defineError } from '@trestle/common/errors/define-error.ts'

/** Every error that a client can see: status, `error.type` and `error.description` (reference: Error descriptions). */

/** A request that cannot be read. */
export const badRequest = defineError(400, 'BAD_REQUEST', 'The request is malformed.')
/** A request with wrong content; `details.issues` lists what is wrong. */
export const validationError = defineError(400, 'VALIDATION_ERROR', 'The request has invalid values.')
/** An import of all or nothing; `details.report` says why. */
export const importRefused = defineError(
  400,
  'VALIDATION_ERROR',
  'Nothing was stored, because not every record could be.',
)
const challenge = (more = '') => ({ 'WWW-Authenticate': `Bearer realm="inventory"${more}` })
export const missingToken = defineError(401, 'UNAUTHENTICATED', 'An access token is required.', challenge())
export const invalidToken = defineError(
  401,
  'UNAUTHENTICATED',
  'The access token is not valid.',
  challenge(', error="invalid_token"'),
)
/** @param scope that the token does not have */
export const insufficientScope = (scope: string) =>
  defineError(
    403,
    'INSUFFICIENT_PRIVILEGES',
    `The access token has not the scope ${scope}.`,
    challenge(`, error="insufficient_scope", scope="${scope}"`),
  )()
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
export const methodNotAllowed = defineError(405, 'NOT_ALLOWED', 'The method is not allowed here.')
export const notAcceptable = defineError(406, 'NOT_ACCEPTABLE', 'The answer would be text/csv or application/x-ndjson.')
export const requestTimeout = defineError(408, 'BAD_REQUEST', 'The request took too long to arrive.')
export const duplicateSku = defineError(409, 'CONFLICT', 'A product with this sku already exists.')
export const productInStock = defineError(409, 'CONFLICT', 'There is still stock of this product.')
export const preconditionFailed = defineError(412, 'PRECONDITION_FAILED', 'The product has another version by now.')
export const locationChanged = defineError(412, 'PRECONDITION_FAILED', 'The location has another version by now.')
export const duplicateCode = defineError(409, 'CONFLICT', 'A location with this code already exists.')
export const locationHasStock = defineError(409, 'CONFLICT', 'The location still has stock.')
export const locationInactive = defineError(409, 'CONFLICT', 'The location is not active: it takes no stock.')
/** `details.available` is how much there is. */
export const insufficientStock = defineError(409, 'INSUFFICIENT_STOCK', 'There is not enough stock available.')
/** `details.current` is how much there is on hand. */
export const staleQuantity = defineError(409, 'STALE_QUANTITY', 'The quantity on hand is not the expected one.')
export const quantityAboveLimit = defineError(409, 'CONFLICT', 'The quantity on hand would be above 1000000000000.')
/** The message says what became of it. */
export const reservationOver = defineError(409, 'CONFLICT', 'The reservation is over.')
/** `details.remaining` is how much is left. */
export const aboveRemaining = defineError(409, 'CONFLICT', 'Less than this quantity is left of the reservation.')
export const keyRunning = defineError(
  409,
  'CONFLICT',
  'A request with this Idempotency-Key is still being carried out.',
  { 'Retry-After': '1' },
)
export const payloadTooLarge = defineError(413, 'PAYLOAD_TOO_LARGE', 'The request body is too large.')
export const uriTooLong = defineError(414, 'URI_TOO_LONG', 'The URL is too long.')
export const unsupportedMediaType = defineError(
  415,
  'UNSUPPORTED_MEDIA_TYPE',
  'The body must be application/json or application/x-www-form-urlencoded, in UTF-8 and without Content-Encoding.',
)
export const preconditionRequired = defineError(428, 'PRECONDITION_REQUIRED', 'This change needs the header If-Match.')
export const keyMismatch = defineError(422, 'VERIFICATION_ERROR', 'This Idempotency-Key was used for another request.')
/** `Retry-After` says for how long. */
export const tooManyRequests = defineError(429, 'TOO_MANY_REQUESTS', 'Too many requests came from this address.')
export const headersTooLarge = defineError(431, 'BAD_REQUEST', 'The header of the request is too large.')
export const serverError = defineError(
  500,
  'SERVER_ERROR',
  'An internal error has occurred while processing your request.',
)
export const notImplemented = defineError(501, 'NOT_IMPLEMENTED', 'The method is not implemented.')
export const serviceUnavailable = defineError(
  503,
  'SERVICE_UNAVAILABLE',
  'The service is not available at the moment. Please try again.',
  { 'Retry-After': '1' },
)
export const serverBusy = defineError(
  503,
  'SERVER_BUSY',
  'As many imports, exports, long pages or large bodies are open as are allowed at a time.',
  {
    'Retry-After': '5',
  },
)
