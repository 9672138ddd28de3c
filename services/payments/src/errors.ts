import { defineError, type ErrorFactory, type ErrorTemplate, HttpError } from '@trestle/common/errors/define-error.ts'
import type { Missing } from '@trestle/common/lifecycle/readiness.ts'
import { FIELD_TEXTS } from './field-errors.ts'
import type { PayoutSkip } from './payouts/payout.ts'
import { processingError, processingErrorOf, statusCodeOf } from './transactions/processing-error.ts'

// The catalogue of all errors that a client can see. Three other files complete it: field-errors.ts for problems of a field,
// operator-errors.ts for operators, and transactions/processing-errors.json for refused cards. The last file also lists the
// status codes of each refusal.
//
// To find where an error is thrown, search for its text here or in field-errors.ts, then search for the name on that line. The
// reference gives some errors the same code, because clients handle them alike. Their texts and headers differ, so each has its
// own line and a comment with the reason.

/** Declares an error. Official clients read the code from a header (reference: Headers of answers). */
export function declare(
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): ErrorFactory {
  return defineError(status, code, message, { 'x-status-code': code, ...headers })
}

/** Declares an error whose text contains values. The header `x-status-code` contains its code, as for every error. */
function declareTemplate<Values extends object>(
  [status, code]: readonly [status: number, code: string],
  message: (values: Values) => string,
  headers: Record<string, string> = {},
): ErrorTemplate<Values> {
  return defineError(status, code, message, { 'x-status-code': code, ...headers })
}

/** The scheme by which a client authenticates (RFC 7617). */
export const BASIC_CHALLENGE = 'Basic realm="payments", charset="UTF-8"'
/** Seconds after which a client may retry the request. */
const RETRY = { 'retry-after': '1' }

/** The body is the array in `details.fields`. At the checkout the body is one object, whose message names the problem. */
export const requestInvalid = declare(400, 'REQUEST_INVALID', 'The request is not valid')
export const unauthorized = declare(401, 'UNAUTHORIZED', 'The API key is missing, malformed, unknown or revoked', {
  'www-authenticate': BASIC_CHALLENGE,
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
  'The field code must have the code of an invitation that is unused and at most 14 days old',
)
export const notFound = declare(404, 'NOT_FOUND', 'There is no such resource')
export const endpointNotFound = declare(404, 'ENDPOINT_NOT_FOUND', 'There is no such endpoint')
export const requestTimeout = declare(408, 'REQUEST_TIMEOUT', 'The body took too long to arrive')
/** `CONFLICT` with Retry-After: the same request may succeed later. `refuseRunning` and a lock timeout raise it. */
export const conflict = declare(409, 'CONFLICT', 'The object is being changed by another request', RETRY)
/** `CONFLICT` without Retry-After, because the outcome of a dispute is final and a retry cannot succeed. */
export const disputeAlreadyWon = declare(409, 'CONFLICT', 'The dispute is already won')
/** `CONFLICT` without Retry-After, because the outcome of a dispute is final and a retry cannot succeed. */
export const disputeAlreadyLost = declare(409, 'CONFLICT', 'The dispute is already lost')
export const payloadTooLarge = declare(413, 'PAYLOAD_TOO_LARGE', 'The body is too large')
export const uriTooLong = declare(414, 'URI_TOO_LONG', 'The URL is longer than 8 KiB')
export const unsupportedMediaType = declare(415, 'UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON or a form, in UTF-8')
export const rateLimited = declare(429, 'RATE_LIMITED', 'Too many requests')
export const internalError = declare(500, 'INTERNAL_ERROR', 'Something went wrong on our side')
/** A row was changed without the service. The operator follows docs/runbooks/changed-rows.md. */
export const recordChanged = declare(500, 'RECORD_CHANGED', 'Data of this merchant must be looked at by the operator')
/** `SERVICE_UNAVAILABLE` for any request, if a dependency of the service does not answer. */
export const serviceUnavailable = declare(503, 'SERVICE_UNAVAILABLE', 'The service cannot answer now', RETRY)
/**
 * The answer of `GET /ready` if a dependency does not answer. The text names the missing parts. The code is the
 * `SERVICE_UNAVAILABLE` of any other request, so load balancers and clients handle the process alike.
 */
export const notReady = declareTemplate(
  [503, 'SERVICE_UNAVAILABLE'],
  (missing: Missing) =>
    'state' in missing ? `The process is ${missing.state}` : `The check of ${missing.check} fails`,
  RETRY,
)
export const serverBusy = declare(503, 'SERVER_BUSY', 'Too many operations wait for their turn', RETRY)
export const rateUnavailable = declare(503, 'RATE_UNAVAILABLE', 'There is no recent exchange rate', {
  'retry-after': '60',
})

// Errors that only the checkout returns (reference: Checkout errors).
export const versionMissing = declare(400, 'VERSION_MISSING', 'The header Accept-Version is missing')
export const versionUnsupported = declare(400, 'VERSION_UNSUPPORTED', 'Accept-Version must be 1')
export const bodyInvalid = declare(400, 'BODY_INVALID', 'The body must be JSON, sent as application/json')
export const tokenInvalid = declare(400, 'TOKEN_INVALID', 'The token is unknown, too old or spent')
export const tokenTypeUnexpected = declare(400, 'TOKEN_TYPE_UNEXPECTED', 'The token stands for another kind of value')
// TEST_MODE_MIXED means a test order at a live merchant or a live order at a test merchant. Each text states the correction.
export const testMissing = declare(400, 'TEST_MODE_MIXED', 'test is required for a test merchant')
export const testUnexpected = declare(400, 'TEST_MODE_MIXED', 'test is not for a live merchant')
export const integrationKeyUnknown = declare(400, 'PAYMENT_INTEGRATION_KEY_UNKNOWN', 'No merchant has this key')
export const integrationDisabled = declare(400, 'PAYMENT_INTEGRATION_DISABLED', 'The merchant takes no payments')
export const challengeUnavailable = declare(
  400,
  'PAYMENT_CHALLENGE_UNAVAILABLE',
  'This step does not apply to the order; begin again at /payments',
)

// Errors of fields of an order (reference: Checkout errors). All have REQUEST_INVALID, the code of every 400 about a body.
export const orderKeyMalformed = declare(400, 'REQUEST_INVALID', 'Idempotency-Key is not valid')
export const returnUrlElsewhere = declare(
  400,
  'REQUEST_INVALID',
  "returnUrl must be on the site of the merchant's website",
)
/** Names each invalid field with its problem: `amount.currency has no exchange rate`. */
export const orderInvalid = declareTemplate(
  [400, 'REQUEST_INVALID'],
  ({ problems }: { readonly problems: readonly OrderProblem[] }) =>
    problems.map(({ field, message }) => `${field} ${message}`).join('; '),
)
export const orderKeyUsed = (): HttpError =>
  orderInvalid({ problems: [{ field: 'Idempotency-Key', message: FIELD_TEXTS.keyUsed }] })

/** The codes of field errors (reference: Field errors). */
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

export type FieldErrorCode = (typeof FIELD_ERROR_CODES)[number]

/** One element of a 400 answer. `field` is the dotted path, or `body` for the whole body. */
export interface FieldError {
  readonly field: string
  readonly message: string
  readonly code: FieldErrorCode
}

/** An invalid field of an order, by its dotted path, and the text about it. */
export type OrderProblem = Pick<FieldError, 'field' | 'message'>

export function invalidFields(fields: readonly FieldError[], cause?: unknown): HttpError {
  return requestInvalid({ details: { fields }, cause })
}

function fieldInvalid(field: string, code: FieldErrorCode, message: string, cause?: unknown): HttpError {
  return invalidFields([{ field, message, code }], cause)
}

// Errors of single fields that endpoints check themselves. Schemas check the format of a value (`requests/`).
export const bodyMalformed = (cause: unknown): HttpError =>
  fieldInvalid('body', 'FORMAT', 'is not a well-formed request', cause)
export const idempotencyKeyMalformed = (): HttpError =>
  fieldInvalid('Idempotency-Key', 'FORMAT', 'must be 1 to 255 printable ASCII characters without spaces')
export const idempotencyKeyMissing = (): HttpError => fieldInvalid('Idempotency-Key', 'REQUIRED', FIELD_TEXTS.required)
export const idempotencyKeyUsed = (): HttpError => fieldInvalid('Idempotency-Key', 'MISMATCH', FIELD_TEXTS.keyUsed)
export const idempotencyKeySpent = (): HttpError =>
  fieldInvalid('Idempotency-Key', 'MISMATCH', 'was used for a key that is revoked')
export const lastKey = (): HttpError => fieldInvalid('keyId', 'LIMIT_EXCEEDED', 'is the last active key')
export const lastMember = (noun: 'app' | 'user'): HttpError =>
  fieldInvalid(`${noun}Id`, 'LIMIT_EXCEEDED', `is the only ${noun} of the merchant`)
export const unknownApp = (): HttpError => fieldInvalid('appId', 'UNKNOWN', 'is not an app')
export const executionDateClosed = (): HttpError =>
  fieldInvalid('executionDate', 'RANGE', 'must be a day on which banks settle, today or later')
export const clockTooFar = (): HttpError => fieldInvalid('advance', 'RANGE', 'must not lead more than 100 years ahead')
export const webhookWithoutTls = (): HttpError =>
  fieldInvalid(
    'url',
    'FORMAT',
    'must be an https URL: http is for test merchants where PAYMENTS_WEBHOOK_ALLOW_HTTP is set',
  )
export const webhookInside = (): HttpError =>
  fieldInvalid(
    'url',
    'FORMAT',
    'must not be an address inside a network, unless PAYMENTS_WEBHOOK_ALLOWED_HOSTS names it',
  )
export const tooManyWebhooks = (): HttpError =>
  fieldInvalid('body', 'LIMIT_EXCEEDED', 'a merchant has at most 10 webhooks')
export const tooManyDisputes = (): HttpError =>
  fieldInvalid('body', 'LIMIT_EXCEEDED', 'a test merchant has at most 1000 open disputes')
const AMOUNT_TEXTS = {
  capture: (possible: string) => `Can capture at most ${possible}`,
  refund: (possible: string) => `Can refund at most ${possible}`,
  void: (possible: string) => `Can void at most ${possible}`,
  dispute: (possible: string) => `Can dispute at most ${possible}`,
} as const
/** @param possible the largest possible amount, as text such as `EUR 3.00` */
export const amountBeyondLimit = (act: keyof typeof AMOUNT_TEXTS, possible: string): HttpError =>
  fieldInvalid('amount', 'LIMIT_EXCEEDED', AMOUNT_TEXTS[act](possible))
/** The text is such as "must be EUR". @param currency the currency of the transaction */
export const otherCurrency = (currency: string): HttpError =>
  fieldInvalid('currency', 'MISMATCH', `must be ${currency}`)
export const trailFull = (): HttpError => fieldInvalid('body', 'LIMIT_EXCEEDED', 'the trail of the transaction is full')
export const currencyWithoutRate = (): HttpError => fieldInvalid('currency', 'UNKNOWN', FIELD_TEXTS.noRate)
/** Unknown, foreign and refused sources have the same text, so that callers learn nothing about other merchants. */
export const unknownSource = (field: string): HttpError =>
  fieldInvalid(field, 'UNKNOWN', 'must be of a successful payment of this merchant')
export const payoutSkipped = (reason: PayoutSkip): HttpError => fieldInvalid('balance', 'LIMIT_EXCEEDED', reason)
export const balanceBeyondLimit = (cause: unknown): HttpError =>
  fieldInvalid('balance', 'LIMIT_EXCEEDED', 'would be beyond 9223372036854775807', cause)
/** Returns one field error, which the answer combines with other errors of the same body. */
export const immutable = (field: string): FieldError => ({ field, message: 'cannot be changed', code: 'IMMUTABLE' })

/**
 * Returns the 400 for a card payment with this processing error (reference: Processing errors). The header names the error, also
 * in the answer to an idempotent request.
 * @throws RangeError if the table of processing errors lacks the number. This can happen only if a row was changed without the
 * service
 */
export function paymentRefused(errorCode: number, { replayed }: { readonly replayed: boolean }): HttpError {
  const [body, statusCode] = [processingError(errorCode), statusCodeOf(errorCode)]
  return toRefusal(statusCode, { message: body.message, details: { body }, replayed })
}

/**
 * Returns the 400 of the checkout for a refused payment (reference: Checkout errors).
 * @throws RangeError if no processing error has the status code. This can happen only if a row was changed without the service
 */
export function orderRefused(statusCode: string, { replayed, details }: Omit<CardRefusal, 'message'>): HttpError {
  const { message } = processingError(processingErrorOf(statusCode))
  return toRefusal(statusCode, { message, details, replayed })
}

interface CardRefusal {
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
  readonly replayed: boolean
}

function toRefusal(statusCode: string, { message, details, replayed }: CardRefusal): HttpError {
  const headers = { 'x-status-code': statusCode, ...(replayed ? { 'idempotent-replayed': 'true' } : {}) }
  return new HttpError(400, statusCode, { message, details, headers })
}

/** The processing error `Missing secure connection (https)`. */
const INSECURE = 21

/** Returns the 400 for card data that arrived without TLS (reference: Order of checks at the checkout). */
export function cardDataInsecure(): HttpError {
  // The code is REQUEST_INVALID, the same as for invalid fields of an order. The field `error` distinguishes the two errors.
  const error = processingError(INSECURE)
  return declare(400, 'REQUEST_INVALID', error.message)({ details: { error } })
}
