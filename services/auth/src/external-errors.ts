import { defineError, HttpError } from '@trestle/common/errors/define-error.ts'
import { BEARER_CHALLENGE } from './errors.ts'

// The part of the catalogue in errors.ts about external providers, captchas, hooks and the identities of a user (reference: Error
// codes). Errors at /callback are added to the redirect.

interface Named {
  readonly provider: string
}

export const stateMissing = defineError(400, 'bad_oauth_callback', 'OAuth state parameter missing')
export const answerRepeated = defineError(400, 'bad_oauth_callback', 'OAuth callback with a parameter twice')
export const stateInvalid = defineError(400, 'bad_oauth_state', 'OAuth state parameter is invalid')
export const stateUnknown = defineError(400, 'bad_oauth_state', 'OAuth state not found or expired')
export const stateExpired = defineError(400, 'bad_oauth_state', 'OAuth state has expired')
export const stateUsed = defineError(400, 'flow_state_already_used', 'State has already been used')
export const providerRefused = defineError(400, 'bad_oauth_callback', 'The provider has refused the sign-in')
export const authorizationCodeMissing = defineError(
  400,
  'bad_oauth_callback',
  'OAuth callback without authorization code',
)
export const requestTokenWrong = defineError(
  400,
  'bad_oauth_callback',
  'OAuth callback without the request token of this sign-in',
)
export const answerOfOtherProvider = defineError(
  400,
  'bad_oauth_callback',
  'The answer is not from the provider of this sign-in',
)
export const providerUnknown = defineError(400, 'validation_failed', 'Unsupported provider: provider is not enabled')
export const providerUnnamed = defineError(400, 'validation_failed', 'Unsupported provider: no provider is named')
export const providerNotSupported = defineError(
  400,
  'oauth_provider_not_supported',
  ({ provider }: Named) => `Unsupported provider: ${provider} is not enabled`,
)
export const providerDisabled = defineError(
  400,
  'provider_disabled',
  ({ issuer }: { readonly issuer: string }) => `Provider (issuer "${issuer}") is not enabled`,
)
export const exchangeFailed = defineError(500, 'unexpected_failure', 'Unable to exchange external code')
export const profileFailed = defineError(500, 'unexpected_failure', 'Error getting user profile from external provider')
const withoutEmail = (status: number, code: string) =>
  defineError(status, code, 'Error getting user email from external provider')
/** Used at `/callback`. */
export const profileWithoutEmail = withoutEmail(500, 'unexpected_failure')
/** Used in the id_token grant. */
export const idTokenWithoutEmail = withoutEmail(400, 'validation_failed')
export const severalOwners = defineError(
  500,
  'unexpected_failure',
  'Multiple accounts with the same email address in the same linking domain detected',
)
export const externalEmailUnverified = defineError(
  422,
  'provider_email_needs_verification',
  ({ provider }: Named) => `Unverified email with ${provider}. Verify the email with ${provider} in order to sign in`,
)
const confirmationMailed = (code: string) =>
  defineError(
    422,
    code,
    ({ provider }: Named) =>
      `Unverified email with ${provider}. A confirmation email has been sent to your ${provider} email`,
  )
export const externalEmailMailed = confirmationMailed('provider_email_needs_verification')
/** Used for the linking of an identity. */
export const linkedEmailUnverified = confirmationMailed('email_not_confirmed')
export const inviteNotFound = defineError(404, 'invite_not_found', 'Invite not found')
export const invitedEmailElsewhere = defineError(
  400,
  'validation_failed',
  'Invited email does not match emails from external provider',
)
export const singleIdentity = defineError(
  422,
  'single_identity_not_deletable',
  'User must have at least 1 identity after unlinking',
)
export const identityNotFound = defineError(422, 'identity_not_found', "Identity doesn't exist")
export const emailConflict = defineError(
  422,
  'email_conflict_identity_not_deletable',
  'Unable to unlink identity due to email conflict',
)
export const identityLinked = defineError(422, 'identity_already_exists', 'Identity is already linked')
export const identityTaken = defineError(422, 'identity_already_exists', 'Identity is already linked to another user')

export const idTokenMissing = defineError(400, 'validation_failed', 'id_token required')
export const idTokenSourceMissing = defineError(400, 'validation_failed', 'provider or client_id and issuer required')
export const idTokensUnsupported = defineError(
  400,
  'validation_failed',
  ({ provider }: Named) => `Provider ${provider} cannot be used with the id_token grant`,
)
export const idTokenInvalid = defineError(400, 'validation_failed', 'Bad ID token')
export const idTokenAudienceForeign = defineError(400, 'validation_failed', 'Unacceptable audience in id_token')
export const idTokenNonceRequired = defineError(
  400,
  'validation_failed',
  'Only id_tokens with a nonce are taken: send the one that it was asked for with',
)
export const idTokenNonceUnpaired = defineError(
  400,
  'validation_failed',
  'Passed nonce and nonce in id_token should either both exist or not.',
)
export const idTokenNonceWrong = defineError(400, 'validation_failed', 'Nonces mismatch')

export const customProviderFieldForeign = defineError(
  400,
  'validation_failed',
  ({ field, type }: { readonly field: string; readonly type: string }) =>
    `${field} is not for providers of the type ${type}`,
)
export const customProviderAddressRefused = defineError(
  400,
  'validation_failed',
  ({ field }: { readonly field: string }) => `${field} is an address that this service may not call`,
)
export const customProviderIssuerMissing = defineError(
  400,
  'validation_failed',
  'issuer is required for providers of the type oidc',
)
export const discoveryFailed = defineError(
  400,
  'validation_failed',
  'The discovery document of the issuer cannot be read, lacks something, or is of another issuer',
)
export const customProviderNotFound = defineError(404, 'custom_provider_not_found', 'Custom OAuth provider not found')
export const customProviderExists = defineError(409, 'conflict', 'A provider with this identifier already exists')
export const customProviderChanged = defineError(
  409,
  'conflict',
  'Somebody else has changed the provider at the same moment',
)
export const customProviderInUse = defineError(
  409,
  'conflict',
  'Users have identities of this provider at another issuer or by another claim: take another identifier',
)
export const tooManyCustomProviders = defineError(
  422,
  'over_custom_provider_quota',
  'Maximum number of custom providers reached',
)

export const captchaFailed = defineError(
  400,
  'captcha_failed',
  'captcha protection: request disallowed (no captcha_token found)',
)
export const captchaRefused = defineError(
  400,
  'captcha_failed',
  ({ codes }: { readonly codes: readonly string[] }) => `captcha protection: request disallowed (${codes.join(', ')})`,
)
export const captchaUnreachable = defineError(500, 'unexpected_failure', 'captcha verification process failed')

// The errors of hooks.

/** The error codes of a refusal by a hook, by profile (reference: Hooks). */
export const HOOK_REJECTED = ['hook_rejected', 'unknown'] as const
const HEADERS_OF_REJECTION: Readonly<Record<number, Record<string, string>>> = {
  401: BEARER_CHALLENGE,
  429: { 'retry-after': '60' },
}

/**
 * Returns the error that a hook has chosen, with its status from 400 to 499 and its text. Headers say when to retry after a 429,
 * and how to authenticate after a 401 (reference: Response headers).
 */
export function hookRejected({
  status,
  message,
  code = 'hook_rejected',
}: {
  readonly status: number
  readonly message: string
  readonly code?: (typeof HOOK_REJECTED)[number]
}): HttpError {
  return new HttpError(status, code, { message, headers: HEADERS_OF_REJECTION[status] ?? {} })
}
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
/** `factorAttemptRejected` with the text of the hook. */
export const factorAttemptRejectedWith = defineError(
  403,
  'mfa_verification_rejected',
  ({ message }: { readonly message: string }) => message,
)
/** `invalidCredentials` with the text of the hook. */
export const passwordAttemptRejected = defineError(
  400,
  'invalid_credentials',
  ({ message }: { readonly message: string }) => message,
)
