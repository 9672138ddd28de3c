import { createHash, createHmac } from 'node:crypto'
import type { Environment } from './environment.ts'

/** The roles of operators (console reference: Roles). */
const ROLES = ['viewer', 'support', 'admin'] as const

/** The email address of the first operator, who is made by `npm start`. */
export const FIRST_OPERATOR = 'operator@example.com'

/** The operator key of a role: each role has one of its own. */
export function keyOf(secret: string, role: (typeof ROLES)[number]): string {
  return createHmac('sha256', secret).update(role).digest('base64url')
}

/** The keys that the console calls services with, as its setting `…_KEYS`. */
export function keysOfConsole(secret: string): string {
  return ROLES.map((role) => `${role}:${keyOf(secret, role)}`).join(',')
}

/** The digests of these keys, as the setting `…_OPERATOR_KEYS` of a service. */
function digestsOfKeys(secret: string): string {
  return ROLES.map((role) => {
    const digest = createHash('sha256').update(keyOf(secret, role)).digest('hex')
    return `console-${role}:${role}:${digest}`
  }).join(',')
}

/** The settings of a service about operators, and where auth publishes the keys of their tokens. */
export interface OperatorContext {
  /** The settings of the user. */
  readonly env: Environment
  readonly secret: string
  /** The address of auth, without a trailing slash. */
  readonly authUrl: string
}

/**
 * Settings that let operators of the console work with a service. Developers sign in without a second factor.
 * @param prefix of the settings of the service
 */
export function operatorSettings(prefix: string, { secret }: Pick<OperatorContext, 'secret'>): Environment {
  return { [`${prefix}OPERATOR_KEYS`]: digestsOfKeys(secret), [`${prefix}OPERATOR_REQUIRE_MFA`]: 'no' }
}

/** Settings that let operators of the console work with a service that verifies tokens of auth by its published keys. */
export function verifyingSettings(prefix: string, context: OperatorContext): Environment {
  const { env, authUrl } = context
  const issuer = env.AUTH_JWT_ISSUER || env.JWT_ISSUER || env.AUTH_API_EXTERNAL_URL || env.API_EXTERNAL_URL || authUrl
  return {
    ...operatorSettings(prefix, context),
    [`${prefix}OPERATOR_ISSUER`]: issuer,
    // A service takes one of them alone.
    ...(env[`${prefix}OPERATOR_JWT_SECRET`]
      ? {}
      : { [`${prefix}OPERATOR_JWKS_URL`]: `${authUrl}/.well-known/jwks.json` }),
  }
}
