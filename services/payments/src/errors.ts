import { defineError, type ErrorFactory } from '@trestle/common/errors/define-error.ts'

/** Every error names its code in a header too: official clients read it there (reference: Headers of answers). */
function declare(status: number, code: string, message: string, headers: Record<string, string> = {}): ErrorFactory {
  return defineError(status, code, message, { 'x-status-code': code, ...headers })
}

/** Seconds after which a request that met a passing fault may be sent again. */
const RETRY = { 'retry-after': '1' }

/** Its body is the array of `details.fields`. */
export const requestInvalid = declare(400, 'REQUEST_INVALID', 'The request is not valid')
export const unauthorized = declare(401, 'UNAUTHORIZED', 'The API key is missing, malformed, unknown or revoked', {
  'www-authenticate': 'Basic realm="payments", charset="UTF-8"',
})
export const forbidden = declare(403, 'FORBIDDEN', 'The API key has no access to this resource')
export const registrationClosed = declare(
  403,
  'REGISTRATION_CLOSED',
  'Apps are made by the operator of this service alone',
)
export const registrationInvited = declare(
  403,
  'REGISTRATION_INVITED',
  'An app needs the code of an invitation, as member code, that is good, unused and not too old',
)
export const notFound = declare(404, 'NOT_FOUND', 'There is no such resource')
export const endpointNotFound = declare(404, 'ENDPOINT_NOT_FOUND', 'There is no such endpoint')
export const conflict = declare(409, 'CONFLICT', 'The object is being changed by another request', RETRY)
/** No retry helps: the outcome is final. */
export const disputeClosed = declare(409, 'CONFLICT', 'The dispute was closed the other way')
export const requestTimeout = declare(408, 'REQUEST_TIMEOUT', 'The body took too long to arrive')
export const uriTooLong = declare(414, 'URI_TOO_LONG', 'The URL is longer than 8 KiB')
export const payloadTooLarge = declare(413, 'PAYLOAD_TOO_LARGE', 'The body is too large')
export const unsupportedMediaType = declare(415, 'UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON or a form, in UTF-8')
export const rateLimited = declare(429, 'RATE_LIMITED', 'Too many requests')
export const internalError = declare(500, 'INTERNAL_ERROR', 'Something went wrong on our side')
/** What the operator does: docs/runbooks/changed-rows.md. */
export const recordChanged = declare(500, 'RECORD_CHANGED', 'Data of this merchant must be looked at by the operator')
export const serviceUnavailable = declare(503, 'SERVICE_UNAVAILABLE', 'The service cannot answer now', RETRY)
export const serverBusy = declare(503, 'SERVER_BUSY', 'Too many operations wait for their turn', RETRY)
export const rateUnavailable = declare(503, 'RATE_UNAVAILABLE', 'There is no recent exchange rate', {
  'retry-after': '60',
})

// Errors of the checkout alone (reference: Checkout errors).
export const versionMissing = declare(400, 'VERSION_MISSING', 'The header Accept-Version is missing')
export const versionUnsupported = declare(400, 'VERSION_UNSUPPORTED', 'Accept-Version must be 1')
export const bodyInvalid = declare(400, 'BODY_INVALID', 'The body must be JSON, sent as application/json')
export const tokenInvalid = declare(400, 'TOKEN_INVALID', 'The token is unknown, too old or spent')
export const tokenTypeUnexpected = declare(400, 'TOKEN_TYPE_UNEXPECTED', 'The token stands for another kind of value')
export const testModeMixed = declare(400, 'TEST_MODE_MIXED', 'Test and live do not go together')
export const integrationKeyUnknown = declare(400, 'PAYMENT_INTEGRATION_KEY_UNKNOWN', 'No merchant has this key')
export const integrationDisabled = declare(400, 'PAYMENT_INTEGRATION_DISABLED', 'The merchant takes no payments')
export const challengeUnavailable = declare(
  400,
  'PAYMENT_CHALLENGE_UNAVAILABLE',
  'This step does not apply to the order; begin again at /payments',
)

export const FIELD_ERROR_CODES = [
  'REQUIRED',
  'TYPE',
  'FORMAT',
  'RANGE',
  'IMMUTABLE',
  'UNKNOWN',
  'LIMIT_EXCEEDED',
  'MISMATCH',
  'DUPLICATE',
] as const

/** What may be wrong with a field (reference: Field errors). */
export type FieldErrorCode = (typeof FIELD_ERROR_CODES)[number]

/** One element of a 400 answer: `field` is the dotted path, or `body` for the whole. */
export interface FieldError {
  readonly field: string
  readonly message: string
  readonly code: FieldErrorCode
}

// Field errors that rules give: elements of the body of a 400 (reference: Field errors). Schemas of bodies give all others.
function fieldError(field: string, code: FieldErrorCode, message: string): FieldError {
  return { field, message, code }
}

export const idempotencyKeyMalformed = () =>
  fieldError('Idempotency-Key', 'FORMAT', 'must be 1 to 255 printable ASCII characters without spaces')
export const idempotencyKeyUsed = () => fieldError('Idempotency-Key', 'MISMATCH', 'was used with another body')
export const amountBeyondLimit = (kind: string, possible: string) =>
  fieldError('amount', 'LIMIT_EXCEEDED', `Can ${kind} at most ${possible}`)
export const otherCurrency = (currency: string) => fieldError('currency', 'MISMATCH', `must be ${currency}`)
export const trailFull = () => fieldError('body', 'LIMIT_EXCEEDED', 'the trail of the transaction is full')
export const currencyWithoutRate = () => fieldError('currency', 'UNKNOWN', 'has no exchange rate')
/** One text whether the source is unknown, another merchant's or refused: a caller learns nothing of other merchants. */
export const unknownSource = (field: string) =>
  fieldError(field, 'UNKNOWN', 'must be of a successful payment of this merchant')
