import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { text, url } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'

/**
 * Settings of the sign-in service whose access tokens users call with (reference: Tokens of users;
 * docs/settings/payments.md).
 */
export const signInSettings = group('Signed-in users', {
  USER_JWKS_URL: url()
    .optional()
    .describe(
      'Keys of the service whose access tokens users may call with, such as `/.well-known/jwks.json` of auth. Without it, users cannot call.',
    ),
  USER_ISSUER: text()
    .optional()
    .describe(
      'Issuer of those access tokens, which must name verified email addresses only. Required with `PAYMENTS_USER_JWKS_URL`.',
    ),
  USER_AUDIENCE: text()
    .optional()
    .describe('The `aud` that those access tokens must name. Default: tokens for any audience are taken.'),
})

type SignInValues = SettingValues<typeof signInSettings>

export const signInRules: readonly Rule<SignInValues>[] = [
  ({ USER_JWKS_URL, USER_ISSUER }) =>
    (USER_JWKS_URL === undefined) === (USER_ISSUER === undefined)
      ? undefined
      : 'PAYMENTS_USER_JWKS_URL and PAYMENTS_USER_ISSUER are set together',
  ({ USER_JWKS_URL, USER_AUDIENCE }) =>
    USER_AUDIENCE !== undefined && USER_JWKS_URL === undefined
      ? 'PAYMENTS_USER_JWKS_URL is required when PAYMENTS_USER_AUDIENCE is set'
      : undefined,
]

export interface SignInConfig {
  readonly jwksUrl: string
  readonly issuer: string
  readonly audience: string | undefined
}

/** Returns the service that signs tokens of users. Undefined: users cannot call. */
export function toSignInConfig({
  USER_JWKS_URL: jwksUrl,
  USER_ISSUER: issuer,
  USER_AUDIENCE: audience,
}: SignInValues): SignInConfig | undefined {
  return jwksUrl === undefined || issuer === undefined ? undefined : { jwksUrl, issuer, audience }
}
