import { defineError } from '@trestle/common/errors/define-error.ts'

// The part of the catalogue in errors.ts about other servers: external providers and hooks (reference: Error codes). An error
// at /callback goes into the redirect.

export const stateMissing = defineError(400, 'bad_oauth_callback', 'OAuth state parameter missing')
export const stateInvalid = defineError(400, 'bad_oauth_state', 'OAuth state parameter is invalid')
export const stateUnknown = defineError(400, 'bad_oauth_state', 'OAuth state not found or expired')
export const stateExpired = defineError(400, 'bad_oauth_state', 'OAuth state has expired')
export const stateUsed = defineError(400, 'flow_state_already_used', 'State has already been used')
export const providerRefused = defineError(400, 'bad_oauth_callback', 'The provider has refused the sign-in')
export const providerNotSupported = defineError(400, 'oauth_provider_not_supported', 'Unsupported provider')
export const providerDisabled = defineError(400, 'provider_disabled', 'Provider is not enabled')
export const exchangeFailed = defineError(500, 'unexpected_failure', 'Unable to exchange external code')
export const profileFailed = defineError(500, 'unexpected_failure', 'Error getting user profile from external provider')
export const profileWithoutEmail = defineError(
  500,
  'unexpected_failure',
  'Error getting user email from external provider',
)
export const severalOwners = defineError(
  500,
  'unexpected_failure',
  'Multiple accounts with the same email address in the same linking domain detected',
)
export const externalEmailUnverified = defineError(
  422,
  'provider_email_needs_verification',
  'Verify the email with your provider in order to sign in',
)
export const linkedEmailUnverified = defineError(
  422,
  'email_not_confirmed',
  'A confirmation email has been sent to your email',
)
export const inviteUnknown = defineError(404, 'user_not_found', 'User not found')
export const inviteNotFound = defineError(404, 'invite_not_found', 'Invite not found')
export const identityLinked = defineError(422, 'identity_already_exists', 'Identity is already linked')
export const identityTaken = defineError(422, 'identity_already_exists', 'Identity is already linked to another user')

export const customProviderNotFound = defineError(404, 'custom_provider_not_found', 'Custom OAuth provider not found')
export const customProviderExists = defineError(409, 'conflict', 'A provider with this identifier already exists')
export const customProviderChanged = defineError(
  409,
  'conflict',
  'Somebody else has changed the provider at the same moment',
)
export const tooManyCustomProviders = defineError(
  422,
  'over_custom_provider_quota',
  'Maximum number of custom providers reached',
)

// The errors of hooks. A hook may replace the message of some.

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
