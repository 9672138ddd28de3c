import { defineError } from '@trestle/common/errors/define-error.ts'
import { BEARER_CHALLENGE } from './errors.ts'

// Errors of operators, and of acts that only operators may do (console reference: Console roles in auth, Errors of operators).

export const consoleRoleReserved = defineError(
  422,
  'console_role_reserved',
  'app_metadata.console_role can only be changed by an operator',
)
export const consoleUserProtected = defineError(
  403,
  'console_user_protected',
  'Only operators act on a user with a console role',
)
export const operatorUnauthorized = defineError(
  401,
  'operator_unauthorized',
  'The operator key or the access token is missing, malformed or not good',
  BEARER_CHALLENGE,
)
export const idempotencyKeyMissing = defineError(
  400,
  'idempotency_key_required',
  'A change of an operator needs an Idempotency-Key',
)
export const idempotencyKeyMalformed = defineError(
  400,
  'validation_failed',
  'An Idempotency-Key must be 1 to 255 printable ASCII characters without spaces',
)
export const idempotencyKeyReused = defineError(
  409,
  'idempotency_key_reused',
  'The Idempotency-Key was used for another request',
)
export const operatorChangeRunning = defineError(409, 'conflict', 'Another request is changing this, please retry', {
  'retry-after': '1',
})
export const operatorForbidden = defineError(403, 'operator_forbidden', 'The role of the operator may not do this')
export const listedSessionNotFound = defineError(404, 'session_not_found', 'Session not found')
export const sinceInFuture = defineError(400, 'validation_failed', 'since: must not be in the future')
export const messageNotFound = defineError(404, 'message_not_found', 'Message not found')
export const messageOver = defineError(
  409,
  'conflict',
  'The message cannot be sent again: its cause is over, or another one was just sent',
)
export const signInLinkImpossible = defineError(
  422,
  'validation_failed',
  'A sign-in link needs a user with a confirmed email address',
)
export const signingKeyNotFound = defineError(404, 'signing_key_not_found', 'Signing key not found')
export const signingKeyTaken = defineError(409, 'conflict', 'A signing key with this kid exists or has existed')
export const signingKeyOver = defineError(409, 'conflict', 'The signing key is over, please add another one')
export const signingKeyTooYoung = defineError(
  409,
  'conflict',
  'Others may not have read the signing key yet, please retry',
)
export const signingAlgorithmOff = defineError(
  409,
  'conflict',
  'AUTH_JWT_VALID_METHODS lacks the algorithm of the signing key',
)
export const signingKeyInUse = defineError(
  409,
  'conflict',
  'The signing key signs, or has signed tokens that may be good',
)
