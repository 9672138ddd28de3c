import { declare } from './errors.ts'

// Errors of operators (console reference: Errors of operators).

/** How an operator proves who they are (RFC 6750), beside the operator key. */
const OPERATOR_CHALLENGE = 'Bearer realm="payments"'

export const operatorUnauthorized = declare(
  401,
  'OPERATOR_UNAUTHORIZED',
  'The operator key or the access token is missing, malformed or not good',
  { 'www-authenticate': OPERATOR_CHALLENGE },
)
export const operatorForbidden = declare(403, 'OPERATOR_FORBIDDEN', 'The role of the operator may not do this')
export const refundNotAllowed = declare(403, 'REFUND_NOT_ALLOWED', 'Support refunds in no such currency')
/** `details`: `limit` of one refund, and what is `left` of the day, in minor units. */
export const refundLimitExceeded = declare(
  403,
  'REFUND_LIMIT_EXCEEDED',
  'The refund is more than the operator may refund',
)
export const operatorKeyReused = declare(
  409,
  'IDEMPOTENCY_KEY_REUSED',
  'The Idempotency-Key was used for another request',
)
