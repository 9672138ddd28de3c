import { defineError } from '@trestle/common/errors/define-error.ts'

// The errors of hooks (reference: Error codes). errors.ts has the others.

/** The hook's own words and status take the place of these. */
export const hookRejected = defineError(403, 'hook_rejected', 'Rejected by a hook')
export const hookTimeout = defineError(422, 'hook_timeout', 'Failed to reach hook within maximum time of 5 seconds')
export const hookTimeoutAfterRetry = defineError(
  422,
  'hook_timeout_after_retry',
  'Failed to reach hook after maximum retries',
)
export const hookAnswerTooLong = defineError(
  422,
  'hook_payload_over_size_limit',
  'Payload exceeded size limit of 204800 bytes',
)
export const hookAnswerNoJson = defineError(
  400,
  'hook_payload_invalid_content_type',
  'Invalid JSON response. The hook must answer application/json',
)
export const hookFailed = defineError(500, 'unexpected_failure', 'Error running hook')
export const factorAttemptRejected = defineError(403, 'mfa_verification_rejected', 'MFA verification attempt rejected')
