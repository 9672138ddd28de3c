import type { AssuranceLevel, VerifiedClaims } from '../access-tokens/access-token.ts'
import type { KeyRing } from '../access-tokens/key-ring.ts'
import { badJwt, badJwtIssuer, badJwtSession, badJwtSubject, badJwtWithoutSubject, noAuthorization } from '../errors.ts'
import { parseId } from '../records/ids.ts'

/** The user of a request's access token. The user may have been deleted or banned since the token was issued. */
export interface TokenUser {
  readonly userId: string
  /** `null` for a token without the claim. */
  readonly sessionId: string | null
  /** The assurance level in the token. Its session may have been stepped up or lowered since. */
  readonly aal: AssuranceLevel
  /** The values of the `aud` claim. An empty string for a token without the claim. */
  readonly audiences: readonly string[]
  readonly isAdmin: boolean
}

const BEARER = /^bearer +([^\s,]+)$/i

export interface BearerDeps {
  readonly signingKeys: Pick<KeyRing, 'verify'>
  readonly now: () => Date
}

/** Verifies the signature and the times of a request's bearer token. */
export function readBearer({ signingKeys, now }: BearerDeps, authorization: string | undefined): VerifiedClaims {
  const token = BEARER.exec(authorization ?? '')?.[1]
  if (token === undefined) throw noAuthorization()
  const verification = signingKeys.verify(token, now())
  if (verification.verdict === 'valid') return verification.claims
  throw badJwt({ reason: verification.reason })
}

/** Like `readBearer`, for an endpoint without authentication: `undefined` if the token is absent or invalid. */
export function findBearer(deps: BearerDeps, authorization: string | undefined): VerifiedClaims | undefined {
  if (authorization === undefined) return undefined
  try {
    return readBearer(deps, authorization)
  } catch {
    return undefined
  }
}

/** Whether a token's role is one of JWT_ADMIN_ROLES. */
export function isAdmin({ role }: { readonly role?: unknown }, adminRoles: readonly string[]): boolean {
  return typeof role === 'string' && adminRoles.includes(role)
}

/** The rules for tokens of this service's users. */
export interface TokenRules {
  readonly adminRoles: readonly string[]
  /** The issuer of this service's tokens. `undefined` if a hook may have written another issuer. */
  readonly issuer: string | undefined
}

/**
 * Returns the user of a token. Tokens of operators may name no user, because admin endpoints need none. Another service that
 * shares the key has its own issuer and users. Tokens that operators sign may lack the issuer.
 */
export function toTokenUser(claims: VerifiedClaims, { adminRoles, issuer }: TokenRules): TokenUser {
  const { iss, sub, aal, aud } = claims
  if (issuer !== undefined && iss !== undefined && iss !== issuer) throw badJwtIssuer()
  if (typeof sub !== 'string' || sub === '') throw badJwtWithoutSubject()
  const userId = readUserId(claims)
  if (userId === null) throw badJwtSubject()
  return {
    userId,
    sessionId: readSessionId(claims),
    aal: aal === 'aal2' ? 'aal2' : 'aal1',
    // Old versions of supabase/auth omit the claim if the user has no audience.
    audiences: (Array.isArray(aud) ? aud : [aud ?? '']).filter((value) => typeof value === 'string'),
    isAdmin: isAdmin(claims, adminRoles),
  }
}

/** The user in a token's `sub` claim, or `null` if it is missing or not a UUID. */
export function readUserId({ sub }: VerifiedClaims): string | null {
  return typeof sub === 'string' && parseId(sub) !== undefined ? sub : null
}

/** The `session_id` claim, or `null` if it is missing or empty. */
export function readSessionId({ session_id: sessionId }: VerifiedClaims): string | null {
  if (sessionId === undefined || sessionId === '') return null
  if (typeof sessionId === 'string' && parseId(sessionId) !== undefined) return sessionId
  throw badJwtSession()
}

/** The requested audience (reference: Audience). @param wanted the header X-JWT-AUD @param usual JWT_AUD */
export function callerAudience(caller: TokenUser, wanted: string | undefined, usual: string): string {
  const own = caller.isAdmin ? undefined : caller.audiences[0]
  return wanted || own || usual
}
