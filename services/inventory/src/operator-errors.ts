import { defineError } from '@trestle/common/errors/define-error.ts'

// Errors of operators (console reference: Errors of operators).

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
/** `details` has the action and the role that counts. */
export const operatorForbidden = defineError(403, 'OPERATOR_FORBIDDEN', 'The role of the operator may not do this.')
