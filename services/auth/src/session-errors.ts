import { defineError } from '@trestle/common/errors/define-error.ts'

// The part of the catalogue in errors.ts about access tokens, refresh tokens and sessions (reference: Error codes).

export const noAuthorization = defineError(401, 'no_authorization', 'This endpoint requires a valid Bearer token')
export const badJwt = defineError(
  403,
  'bad_jwt',
  ({ reason }: { readonly reason: string }) => `invalid JWT: unable to parse or verify signature, ${reason}`,
)
/** The reasons of `badJwt`. They name no key. */
export const JWT_FAULTS = {
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
export const sessionExpired = defineError(400, 'session_expired', 'Invalid Refresh Token: Session Expired')
export const sessionInactive = defineError(
  400,
  'session_expired',
  'Invalid Refresh Token: Session Expired (Inactivity)',
)
export const sessionLowAal = defineError(
  400,
  'session_expired',
  'Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)',
)
export const sessionSuperseded = defineError(
  400,
  'session_expired',
  'Invalid Refresh Token: Session Expired (Revoked by Newer Login)',
)
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
