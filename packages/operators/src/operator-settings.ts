import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { flag, secret, text, url } from '@trestle/common/config/setting.ts'
import { type OperatorAccess, type OperatorKey, operatorKeys } from './operator.ts'
import type { OperatorTokenRules } from './operator-token.ts'

/** Settings of the operator API, for a service that uses auth to identify operators. */
export const operatorSettings = {
  OPERATOR_KEYS: operatorKeys()
    .default([])
    .describe(
      'Keys of consoles: `name:role:digest,…`, the digest being the SHA-256 of a key of at least 32 random characters. Without it there is no operator API.',
    ),
  OPERATOR_JWKS_URL: url()
    .optional()
    .describe(
      'Where auth publishes the keys that it signs access tokens with. Operators call with such a token beside a key.',
    ),
  OPERATOR_JWT_SECRET: secret(text())
    .optional()
    .describe('The secret that auth signs access tokens with, where it signs with one and publishes no key.'),
  OPERATOR_ISSUER: text().optional().describe('The `iss` of access tokens of auth.'),
  OPERATOR_REQUIRE_MFA: flag()
    .prefault('true')
    .describe('Operators must have shown a second factor when they signed in.'),
} as const

type OperatorValues = SettingValues<typeof operatorSettings>

/**
 * Returns the rule that operators need an issuer, and either published keys or a secret. The rule returns its problem as a text.
 * @param prefix the prefix of the service's settings, such as `PAYMENTS_`
 */
export function operatorRule(prefix: string): Rule<OperatorValues> {
  return ({ OPERATOR_KEYS, OPERATOR_JWKS_URL, OPERATOR_JWT_SECRET, OPERATOR_ISSUER }) => {
    if (OPERATOR_KEYS.length === 0) return undefined
    if (OPERATOR_ISSUER === undefined) return `${prefix}OPERATOR_ISSUER is required with ${prefix}OPERATOR_KEYS`
    const hasOne = (OPERATOR_JWKS_URL === undefined) !== (OPERATOR_JWT_SECRET === undefined)
    if (hasOne) return undefined
    return `${prefix}OPERATOR_KEYS needs either ${prefix}OPERATOR_JWKS_URL or ${prefix}OPERATOR_JWT_SECRET`
  }
}

export interface OperatorConfig {
  readonly keys: readonly OperatorKey[]
  readonly tokens: OperatorTokenRules
}

/** Returns the keys and token rules of operators. Returns `undefined` if the settings allow no operator. */
export function toOperators(values: OperatorValues): OperatorConfig | undefined {
  const { OPERATOR_KEYS, OPERATOR_JWKS_URL: jwksUrl, OPERATOR_JWT_SECRET, OPERATOR_ISSUER: issuer } = values
  if (OPERATOR_KEYS.length === 0 || issuer === undefined) return undefined
  const keys = jwksUrl === undefined ? { secret: OPERATOR_JWT_SECRET ?? '' } : { jwksUrl }
  return { keys: OPERATOR_KEYS, tokens: { keys, issuer, mfaRequired: values.OPERATOR_REQUIRE_MFA } }
}

/**
 * Creates the operator authenticator. It loads the token library only here, so that a start without operators is faster.
 * @param now the clock for the expiry of tokens
 */
export async function openOperatorAccess({ keys, tokens }: OperatorConfig, now: () => Date): Promise<OperatorAccess> {
  const { createOperatorTokens } = await import('./operator-token.ts')
  return { keys, verifyToken: createOperatorTokens(tokens, now) }
}
