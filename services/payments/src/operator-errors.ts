import { declare } from './errors.ts'

// Errors of operators (console reference: Errors of operators).

/** The authentication scheme for an operator's access token (RFC 6750). The request also carries the operator key. */
const OPERATOR_CHALLENGE = 'Bearer realm="payments"'

export const operatorUnauthorized = declare(
  401,
  'OPERATOR_UNAUTHORIZED',
  'The operator key or the access token is missing, malformed or not good',
  { 'www-authenticate': OPERATOR_CHALLENGE },
)
export const operatorForbidden = declare(403, 'OPERATOR_FORBIDDEN', 'The role of the operator may not do this')
export const refundNotAllowed = declare(403, 'REFUND_NOT_ALLOWED', 'Support refunds in no such currency')
/** `details` has the `limit` of one refund and the amount `left` of the day, in minor units. */
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
/** This `CONFLICT` has no Retry-After, because the outcome of an attempt is final. */
export const attemptSettled = declare(409, 'CONFLICT', 'The outcome of the attempt is known')
/** This `CONFLICT` has no Retry-After, because the acquirer may never accept the reversal. The attempt stays as it is. */
export const notTakenBack = declare(409, 'CONFLICT', 'The acquirer did not take the reversal')
/** This `CONFLICT` has no Retry-After, because the outcome of a payout is final. */
export const payoutClosed = declare(409, 'CONFLICT', 'The payout has the other outcome')
/** This `CONFLICT` has no Retry-After, because a deleted webhook never comes back. */
export const deliveryObsolete = declare(
  409,
  'CONFLICT',
  'The webhook of the delivery is deleted, or its event is too old',
)
/** The bank files of the batch must no longer be used. The `cause` says why. */
export const batchChanged = declare(409, 'CONFLICT', 'The bank has answered about the batch, or it was changed')
