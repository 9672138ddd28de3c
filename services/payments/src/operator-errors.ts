import { declare } from './errors.ts'

// Errors of operators (console reference: Errors of operators).

/** The scheme by which an operator authenticates (RFC 6750), beside the operator key. */
const OPERATOR_CHALLENGE = 'Bearer realm="payments"'

export const operatorUnauthorized = declare(
  401,
  'OPERATOR_UNAUTHORIZED',
  'The operator key or the access token is missing, malformed or not good',
  { 'www-authenticate': OPERATOR_CHALLENGE },
)
export const operatorForbidden = declare(403, 'OPERATOR_FORBIDDEN', 'The role of the operator may not do this')
export const refundNotAllowed = declare(403, 'REFUND_NOT_ALLOWED', 'Support refunds in no such currency')
/** `details`: `limit` of one refund, and the amount `left` of the day, in minor units. */
export const refundLimitExceeded = declare(
  403,
  'REFUND_LIMIT_EXCEEDED',
  'The refund is more than the operator may refund',
)
export const trailReserved = declare(
  403,
  'TRAIL_RESERVED',
  'Support refunds no transaction whose trail has 60 entries. An admin may',
)
export const idempotencyKeyReused = declare(
  409,
  'IDEMPOTENCY_KEY_REUSED',
  'The Idempotency-Key was used for another request',
)
/** `CONFLICT` without Retry-After: an outcome is decided once. */
export const attemptSettled = declare(409, 'CONFLICT', 'The outcome of the attempt is known')
/** `CONFLICT` without Retry-After: the acquirer may never take it. The attempt stays as it is. */
export const notTakenBack = declare(409, 'CONFLICT', 'The acquirer did not take the reversal')
/** `CONFLICT` without Retry-After: the outcome of a payout is final. */
export const payoutClosed = declare(409, 'CONFLICT', 'The payout has the other outcome')
/** `CONFLICT` without Retry-After: a deleted webhook does not come back. */
export const deliveryObsolete = declare(
  409,
  'CONFLICT',
  'The webhook of the delivery is deleted, or its event is too old',
)
/** The files of a batch could do harm now. The `cause` says why. */
export const batchChanged = declare(409, 'CONFLICT', 'The bank has answered about the batch, or it was changed')
