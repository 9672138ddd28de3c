import { defineError, type ErrorFactory, type ErrorTemplate, HttpError } from '@trestle/common/errors/define-error.ts'
import type { Missing } from '@trestle/common/lifecycle/readiness.ts'
import { FIELD_TEXTS } from './field-errors.ts'
import type { PayoutSkip } from './payouts/payout.ts'
import { processingError, processingErrorOf, statusCodeOf } from './transactions/processing-error.ts'

// The catalogue of all errors that a client can see, with field-errors.ts for what is wrong with a field, operator-errors.ts for
// operators, and transactions/processing-errors.json for refused cards. That file also lists the status codes of each refusal.
//
// A search for the text of an answer finds its line here or in field-errors.ts, and a search for the name on that line finds
// where the error is thrown. The reference gives some codes to several errors, because clients act alike on all of them. The text
// and the headers distinguish these errors, so each has a line of its own, with the reason above it.

/** Every error names its code in a header too, where official clients read it (reference: Headers of answers). */
export function declare(
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): ErrorFactory {
  return defineError(status, code, message, { 'x-status-code': code, ...headers })
}

/** Declares an error whose text names values. The header `x-status-code` names its code, as for every error. */
function declareTemplate<Values extends object>(
  [status, code]: readonly [status: number, code: string],
  message: (values: Values) => string,
  headers: Record<string, string> = {},
): ErrorTemplate<Values> {
  return defineError(status, code, message, { 'x-status-code': code, ...headers })
}

/** The scheme by which a client authenticates (RFC 7617). */
export const BASIC_CHALLENGE = 'Basic realm="payments", charset="UTF-8"'
/** Seconds after which a client may send the request again. */
const RETRY = { 'retry-after': '1' }

/** The body is the array in `details.fields`. At the checkout it is one object, whose message names the problem. */
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
/** `CONFLICT` with Retry-After: the same request may succeed later. `refuseRunning` and a lock that comes too late raise it. */
export const conflict = declare(409, 'CONFLICT', 'The object is being changed by another request', RETRY)
/** `CONFLICT` without Retry-After: the outcome of a dispute is final, so the client must not send the request again. */
export const disputeAlreadyWon = declare(409, 'CONFLICT', 'The dispute is already won')
/** `CONFLICT` without Retry-After, as for a dispute that is already won. */
export const disputeAlreadyLost = declare(409, 'CONFLICT', 'The dispute is already lost')
export const payloadTooLarge = declare(413, 'PAYLOAD_TOO_LARGE', 'The body is too large')
export const uriTooLong = declare(414, 'URI_TOO_LONG', 'The URL is longer than 8 KiB')
export const unsupportedMediaType = declare(415, 'UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON or a form, in UTF-8')
export const rateLimited = declare(429, 'RATE_LIMITED', 'Too many requests')
export const internalError = declare(500, 'INTERNAL_ERROR', 'Something went wrong on our side')
/** A row was changed past the service. The operator follows docs/runbooks/changed-rows.md. */
export const recordChanged = declare(500, 'RECORD_CHANGED', 'Data of this merchant must be looked at by the operator')
/** `SERVICE_UNAVAILABLE` of any request: something that the service needs does not answer. */
export const serviceUnavailable = declare(503, 'SERVICE_UNAVAILABLE', 'The service cannot answer now', RETRY)
/**
 * Answers `GET /ready`, and names the missing parts. `SERVICE_UNAVAILABLE` like any request of such a process: a balancer and a
 * client treat the process alike.
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

// Errors of the checkout only (reference: Checkout errors).
export const versionMissing = declare(400, 'VERSION_MISSING', 'The header Accept-Version is missing')
export const versionUnsupported = declare(400, 'VERSION_UNSUPPORTED', 'Accept-Version must be 1')
export const bodyInvalid = declare(400, 'BODY_INVALID', 'The body must be JSON, sent as application/json')
export const tokenInvalid = declare(400, 'TOKEN_INVALID', 'The token is unknown, too old or spent')
export const tokenTypeUnexpected = declare(400, 'TOKEN_TYPE_UNEXPECTED', 'The token stands for another kind of value')
// TEST_MODE_MIXED is one mistake, a test order at a live merchant or the reverse, and each text names the cure.
export const testMissing = declare(400, 'TEST_MODE_MIXED', 'test is required for a test merchant')
export const testUnexpected = declare(400, 'TEST_MODE_MIXED', 'test is not for a live merchant')
export const integrationKeyUnknown = declare(400, 'PAYMENT_INTEGRATION_KEY_UNKNOWN', 'No merchant has this key')
export const integrationDisabled = declare(400, 'PAYMENT_INTEGRATION_DISABLED', 'The merchant takes no payments')
export const challengeUnavailable = declare(
  400,
  'PAYMENT_CHALLENGE_UNAVAILABLE',
  'This step does not apply to the order; begin again at /payments',
)

// Wrong members of an order (reference: Checkout errors). All have REQUEST_INVALID, the code of every 400 about a body.
export const orderKeyMalformed = declare(400, 'REQUEST_INVALID', 'Idempotency-Key is not valid')
export const returnUrlElsewhere = declare(
  400,
  'REQUEST_INVALID',
  "returnUrl must be on the site of the merchant's website",
)
/** Names each wrong member with its problem: `amount.currency has no exchange rate`. */
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

/** One element of a 400 answer. `field` is the dotted path, or `body` for the whole. */
export interface FieldError {
  readonly field: string
  readonly message: string
  readonly code: FieldErrorCode
}

/** A member of an order that is wrong, by its dotted path, and the text about it. */
export type OrderProblem = Pick<FieldError, 'field' | 'message'>

export function invalidFields(fields: readonly FieldError[], cause?: unknown): HttpError {
  return requestInvalid({ details: { fields }, cause })
}

function fieldInvalid(field: string, code: FieldErrorCode, message: string, cause?: unknown): HttpError {
  return invalidFields([{ field, message, code }], cause)
}

// Rules of endpoints about one field. Schemas state the form of a value (`requests/`).
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
/** `possible` is money as text: `EUR 3.00`. */
export const amountBeyondLimit = (act: keyof typeof AMOUNT_TEXTS, possible: string): HttpError =>
  fieldInvalid('amount', 'LIMIT_EXCEEDED', AMOUNT_TEXTS[act](possible))
/** The text is such as "must be EUR". `currency` is the currency of the transaction. */
export const otherCurrency = (currency: string): HttpError =>
  fieldInvalid('currency', 'MISMATCH', `must be ${currency}`)
export const trailFull = (): HttpError => fieldInvalid('body', 'LIMIT_EXCEEDED', 'the trail of the transaction is full')
export const currencyWithoutRate = (): HttpError => fieldInvalid('currency', 'UNKNOWN', FIELD_TEXTS.noRate)
/** One text for a source that is unknown, another merchant's or refused: a caller learns nothing of other merchants. */
export const unknownSource = (field: string): HttpError =>
  fieldInvalid(field, 'UNKNOWN', 'must be of a successful payment of this merchant')
export const payoutSkipped = (reason: PayoutSkip): HttpError => fieldInvalid('balance', 'LIMIT_EXCEEDED', reason)
export const balanceBeyondLimit = (cause: unknown): HttpError =>
  fieldInvalid('balance', 'LIMIT_EXCEEDED', 'would be beyond 9223372036854775807', cause)
/** Stands beside other errors of the same body. */
export const immutable = (field: string): FieldError => ({ field, message: 'cannot be changed', code: 'IMMUTABLE' })

/**
 * 400 for a card payment with this processing error (reference: Processing errors). The header names the error, also in a
 * repeat.
 * @throws RangeError when the table of processing errors lacks the number, which a row past the service may hold
 */
export function paymentRefused(errorCode: number, { replayed }: { readonly replayed: boolean }): HttpError {
  const [body, statusCode] = [processingError(errorCode), statusCodeOf(errorCode)]
  return toRefusal(statusCode, { message: body.message, details: { body }, replayed })
}

/**
 * 400 of the checkout for a payment that was refused (reference: Checkout errors).
 * @throws RangeError when no processing error has the status code, which a row past the service may hold
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

/** 400 for card data that came without TLS (reference: Order of checks at the checkout). */
export function cardDataInsecure(): HttpError {
  // The code is REQUEST_INVALID, as for wrong members of an order. The member `error` tells the two apart.
  const error = processingError(INSECURE)
  return declare(400, 'REQUEST_INVALID', error.message)({ details: { error } })
}
