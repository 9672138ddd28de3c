import { defineError } from '@trestle/common/errors/define-error.ts'
import type { Missing } from '@trestle/common/lifecycle/readiness.ts'

// The catalogue of all errors that a client can see (reference: Error codes). Further files complete it: field-errors.ts for
// fields and lines of an import, request-errors.ts for requests, factor-errors.ts for second factors, and external-errors.ts for
// providers, captchas, hooks and identities. If a code has several texts, the name of each error says where it is used. If
// supabase/auth uses one text with several statuses or codes, the text is defined once, and the lines below assign its statuses.

const invalid = (message: string) => defineError(400, 'validation_failed', message)

/** Every 401 states how a client can authenticate (RFC 9110, section 11.6.1). */
export const BEARER_CHALLENGE = { 'www-authenticate': 'Bearer realm="auth"' }

export const notFound = defineError(404, 'not_found', 'Not found')
export const methodNotAllowed = defineError(405, 'method_not_allowed', 'Method not allowed')

export const notAdmin = defineError(403, 'not_admin', 'User not allowed')
export const appMetadataForAdmins = defineError(403, 'not_admin', 'Updating app_metadata requires admin privileges')

const banned = (status: number) => defineError(status, 'user_banned', 'User is banned')
export const userBanned = banned(403)
/** Used at `POST /token`. */
export const signInUserBanned = banned(400)

const otherAudience = (status: number, code: string) =>
  defineError(status, code, "Token audience doesn't match request audience")
/** Used at `GET /user`. */
export const audienceMismatch = otherAudience(400, 'validation_failed')
/** Used for the unlinking of an identity. */
export const foreignAudience = otherAudience(403, 'unexpected_audience')

export const userNotFound = defineError(404, 'user_not_found', 'User not found')
export const emailUnknown = defineError(404, 'user_not_found', 'User with this email not found')
export const secureChangeOff = invalid('Enable secure email change to generate link for current email')
export const userIdTaken = defineError(409, 'conflict', 'A user with this id already exists')
export const emailExists = defineError(
  422,
  'email_exists',
  'A user with this email address has already been registered',
)
export const phoneExists = defineError(422, 'phone_exists', 'A user with this phone number has already been registered')
export const phoneExistsForAdmin = defineError(422, 'phone_exists', 'Phone number already registered by another user')

const alreadyRegistered = (status: number) => defineError(status, 'user_already_exists', 'User already registered')
export const userAlreadyExists = alreadyRegistered(400)
/** Used in the profile supabase. */
export const userAlreadyRegistered = alreadyRegistered(422)

export const signupDisabled = defineError(422, 'signup_disabled', 'Signups not allowed for this instance')
export const emailSignupsDisabled = defineError(400, 'email_provider_disabled', 'Email signups are disabled')
const emailOff = (status: number) => defineError(status, 'email_provider_disabled', 'Email logins are disabled')
export const emailSignInsDisabled = emailOff(422)
/** Used at `/recover` and `/resend`. */
export const emailMessagesDisabled = emailOff(400)
export const phoneSignupsDisabled = defineError(400, 'phone_provider_disabled', 'Phone signups are disabled')
const phoneOff = (status: number) => defineError(status, 'phone_provider_disabled', 'Phone logins are disabled')
export const phoneSignInsDisabled = phoneOff(422)
/** Used at `/resend`. */
export const phoneMessagesDisabled = phoneOff(400)
export const phoneCodesDisabled = defineError(400, 'phone_provider_disabled', 'Unsupported phone provider')
export const otpDisabled = defineError(422, 'otp_disabled', 'Signups not allowed for otp')
export const anonymousDisabled = defineError(422, 'anonymous_provider_disabled', 'Anonymous sign-ins are disabled')
export const otpExpired = defineError(403, 'otp_expired', 'Token has expired or is invalid')
export const linkExpired = defineError(403, 'otp_expired', 'Email link is invalid or has expired')
export const linkFetchedAhead = invalid('Links of mails are not to be fetched before somebody opens them')
export const pkceRequired = invalid('Only PKCE flows are taken: send code_challenge and code_challenge_method')
export const linkWithoutPkce = invalid(
  'This link signs in only where it was asked for with PKCE, enter the code of the mail instead',
)
export const weakPassword = defineError(
  422,
  'weak_password',
  ({ sentences }: { readonly sentences: string }) => sentences,
)
/** The texts of `weakPassword`, one for each reason. */
export const WEAKNESS_SENTENCES = {
  length: (min: number) => `Password should be at least ${min} characters.`,
  characters: (sets: readonly string[]) =>
    `Password should contain at least one character of each: ${sets.join(', ')}.`,
  pwned: 'Password is known to be weak and easy to guess, please choose a different one.',
} as const

const currentPassword = (code: string) => defineError(400, code, 'Current password required when setting new password.')
export const currentPasswordRequired = currentPassword('current_password_required')
export const currentPasswordInvalid = currentPassword('current_password_invalid')
export const samePassword = defineError(422, 'same_password', 'New password should be different from the old password.')
export const reauthenticationNeeded = defineError(
  400,
  'reauthentication_needed',
  'Password update requires reauthentication',
)
export const addressTooNew = defineError(
  422,
  'address_changed_recently',
  'Your address was changed less than a day ago: sign in again instead',
)
export const signInTooOld = defineError(400, 'reauthentication_needed', 'Sign in again to change how you sign in')
export const reauthenticationNotValid = defineError(
  422,
  'reauthentication_not_valid',
  'Nonce has expired or is invalid',
)
export const ssoUserManaged = defineError(
  422,
  'user_sso_managed',
  'Updating email, phone, password of a SSO account only possible via SSO',
)
export const anonymousPassword = defineError(
  422,
  'validation_failed',
  'Updating password of an anonymous user without an email or phone is not allowed',
)
export const emailNotVerified = defineError(422, 'email_not_confirmed', 'Please verify your email first.')
export const phoneNotVerified = defineError(422, 'phone_not_confirmed', 'Please verify your phone first.')

export const invalidCredentials = defineError(400, 'invalid_credentials', 'Invalid login credentials')
export const unsupportedGrantType = defineError(400, 'invalid_credentials', 'unsupported_grant_type')
export const emailNotConfirmed = defineError(400, 'email_not_confirmed', 'Email not confirmed')
export const phoneNotConfirmed = defineError(400, 'phone_not_confirmed', 'Phone not confirmed')
export const flowStateNotFound = defineError(
  404,
  'flow_state_not_found',
  'invalid flow state, no valid flow state found',
)
export const flowStateExpired = defineError(422, 'flow_state_expired', 'invalid flow state, flow state has expired')
export const badCodeVerifier = defineError(
  400,
  'bad_code_verifier',
  'code challenge does not match previously saved code verifier',
)
export const web3Disabled = defineError(422, 'web3_provider_disabled', 'Web3 provider is disabled')

export const noAuthorization = defineError(
  401,
  'no_authorization',
  'This endpoint requires a valid Bearer token',
  BEARER_CHALLENGE,
)
export const badJwt = defineError(
  403,
  'bad_jwt',
  ({ reason }: { readonly reason: string }) => `invalid JWT: unable to parse or verify signature, ${reason}`,
)
/** The reasons of `badJwt`. They do not name the key. */
export const JWT_PROBLEMS = {
  segments: 'token is malformed: token contains an invalid number of segments',
  header: 'token is malformed: could not parse its header',
  claims: 'token is malformed: could not parse its claims',
  extension: 'token is unverifiable: unknown extension',
  key: 'token is unverifiable: unrecognized key or algorithm',
  signature: 'token signature is invalid: signature is invalid',
  expired: 'token has invalid claims: token is expired',
  early: 'token has invalid claims: token is not valid yet',
} as const
export const badJwtIssuer = defineError(403, 'bad_jwt', 'invalid claim: the token is of another issuer')
export const badJwtWithoutSubject = defineError(403, 'bad_jwt', 'invalid claim: missing sub claim')
export const badJwtSubject = defineError(400, 'bad_jwt', 'invalid claim: sub claim must be a UUID')
export const badJwtSession = defineError(403, 'bad_jwt', 'invalid claim: session_id claim must be a UUID')
export const tokenUserNotFound = defineError(403, 'user_not_found', 'User from sub claim in JWT does not exist')
export const sessionNotFound = defineError(
  403,
  'session_not_found',
  'Session from session_id claim in JWT does not exist',
)

export const refreshUserBanned = defineError(400, 'user_banned', 'Invalid Refresh Token: User Banned')
const sessionEnded = (message: string) => defineError(400, 'session_expired', message)
export const sessionExpired = sessionEnded('Invalid Refresh Token: Session Expired')
export const sessionInactive = sessionEnded('Invalid Refresh Token: Session Expired (Inactivity)')
export const sessionLowAal = sessionEnded(
  'Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)',
)
export const sessionSuperseded = sessionEnded('Invalid Refresh Token: Session Expired (Revoked by Newer Login)')
export const refreshTokenNotFound = defineError(
  400,
  'refresh_token_not_found',
  'Invalid Refresh Token: Refresh Token Not Found',
)
export const refreshTokenAlreadyUsed = defineError(
  400,
  'refresh_token_already_used',
  'Invalid Refresh Token: Already Used',
)
export const tooManyRefreshes = defineError(
  409,
  'conflict',
  'Too many concurrent token refresh requests on the same session or refresh token',
)

export const samlDisabled = defineError(404, 'saml_provider_disabled', 'SAML 2.0 is disabled')
export const passkeysDisabled = defineError(404, 'passkey_disabled', 'Passkeys are disabled')
export const oauthServerDisabled = defineError(404, 'feature_disabled', 'OAuth server is disabled')
export const manualLinkingDisabled = defineError(404, 'manual_linking_disabled', 'Manual linking is disabled')
export const customProvidersDisabled = defineError(404, 'feature_disabled', 'Custom OAuth providers are disabled')

export const overRequestRateLimit = defineError(429, 'over_request_rate_limit', 'Request rate limit reached')
export const overEmailRateLimit = defineError(429, 'over_email_send_rate_limit', 'email rate limit exceeded')
export const overSmsRateLimit = defineError(429, 'over_sms_send_rate_limit', 'SMS rate limit exceeded')
const tooSoon = (code: string) =>
  defineError(
    429,
    code,
    ({ seconds }: { readonly seconds: number }) =>
      `For security purposes, you can only request this after ${seconds} seconds.`,
  )
export const emailTooSoon = tooSoon('over_email_send_rate_limit')
export const smsTooSoon = tooSoon('over_sms_send_rate_limit')
export const smsSendFailed = defineError(
  422,
  'sms_send_failed',
  ({ reason }: { readonly reason: string }) => `Error sending confirmation OTP to provider: ${reason}`,
)

export const unexpectedFailure = defineError(
  500,
  'unexpected_failure',
  'Unexpected failure, please check server logs for more information',
)
export const smsProviderMissing = defineError(500, 'unexpected_failure', 'Unable to get SMS provider')
/** The database, a provider's keys or the list of breached passwords is unavailable. The logged `cause` names it. */
export const serviceUnavailable = defineError(
  503,
  'service_unavailable',
  'The service is not available for the moment, please retry',
  { 'retry-after': '1' },
)
/** The answer of `GET /ready` if parts are unavailable. The text names them. */
export const notReady = defineError(
  503,
  'service_unavailable',
  (missing: Missing) =>
    'state' in missing ? `The process is ${missing.state}` : `The check of ${missing.check} fails`,
  { 'retry-after': '1' },
)
/** The queue of the database, of batches or of password hashes is full, or another request has just changed the user. */
export const serverBusy = defineError(503, 'server_busy', 'Too many requests at once, please retry after a moment', {
  'retry-after': '2',
})
export const requestTimeout = defineError(
  504,
  'request_timeout',
  'Processing this request timed out, please retry after a moment.',
)

// Errors of operators, and of changes that only operators may make (console reference: Console roles in auth, Errors of
// operators).

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
