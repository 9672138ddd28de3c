import { NoKeysError, openTokenIssuer } from '@trestle/common/outbound/token-issuer.ts'
import { errors, type JWTPayload, jwtVerify } from 'jose'
import { z } from 'zod'
import { type OperatorActor, UnverifiableTokenError } from './operator.ts'
import { OPERATOR_ROLES } from './operator-roles.ts'

/** The rules by which access tokens of operators are valid. */
export interface OperatorTokenRules {
  /** `https://auth.example.com/.well-known/jwks.json`, or the shared secret if auth signs tokens with a secret. */
  readonly keys: { readonly jwksUrl: string } | { readonly secret: string }
  readonly issuer: string
  /** Whether the sign-in must include a second factor. */
  readonly mfaRequired: boolean
}

const LEEWAY_SECONDS = 5
/** Keys that cannot be read again stay valid for ten minutes, like the keys for tokens of users. */
const FIXED = { algorithms: ['RS256', 'ES256', 'EdDSA'], leewaySeconds: LEEWAY_SECONDS, keptMs: 600_000 } as const

/**
 * Returns a function that verifies the access token of an operator: the signature, the issuer, the time, the second factor if
 * required, and the role that only operators can assign (console reference: Credentials). The function resolves to `undefined`
 * for an invalid token. It rejects with `UnverifiableTokenError` while no key is available for the check.
 * @see RFC 7519, RFC 8725
 */
export function createOperatorTokens(
  rules: OperatorTokenRules,
  now: () => Date,
): (token: string) => Promise<OperatorActor | undefined> {
  const { keys, issuer, mfaRequired } = rules
  const verify =
    'secret' in keys
      ? verifyBySecret(keys.secret, { issuer, now })
      : openTokenIssuer({ jwksUrl: keys.jwksUrl, issuer, ...FIXED }, { now }).verify
  return async (token) => toActor(await verify(token).catch(refuseWithoutKeys), { mfaRequired })
}

/** A token without a session was signed by a command. It is refused, because no sign-out could revoke it. */
const Claims = z.object({
  sub: z.guid(),
  session_id: z.guid(),
  // Auth accepts the addresses that browsers accept, such as r&d@example.com and ops@host.
  email: z.email({ pattern: z.regexes.html5Email }),
  aal: z.string(),
  is_anonymous: z.literal(false).optional(),
  app_metadata: z.object({ console_role: z.enum(OPERATOR_ROLES) }),
})

/** Returns the operator of verified claims. Returns `undefined` without a console role, or without a required second factor. */
function toActor(
  claims: JWTPayload | undefined,
  { mfaRequired }: Pick<OperatorTokenRules, 'mfaRequired'>,
): OperatorActor | undefined {
  const { data } = Claims.safeParse(claims)
  if (data === undefined || (mfaRequired && data.aal !== 'aal2')) return undefined
  return { id: data.sub, email: data.email, role: data.app_metadata.console_role }
}

function refuseWithoutKeys(error: unknown): never {
  throw error instanceof NoKeysError ? new UnverifiableTokenError(error.message, { cause: error }) : error
}

function verifyBySecret(
  secret: string,
  { issuer, now }: Pick<OperatorTokenRules, 'issuer'> & { readonly now: () => Date },
): (token: string) => Promise<JWTPayload | undefined> {
  const key = new TextEncoder().encode(secret)
  const fixed = { issuer, algorithms: ['HS256'], clockTolerance: LEEWAY_SECONDS, requiredClaims: ['sub', 'exp'] }
  return async (token) => {
    try {
      return (await jwtVerify(token, key, { ...fixed, currentDate: now() })).payload
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined
      throw error
    }
  }
}
