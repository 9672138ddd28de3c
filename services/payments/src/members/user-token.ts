import { NoKeysError, openTokenIssuer } from '@trestle/common/outbound/token-issuer.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepareOnCoordinator } from '@trestle/database/prepare.ts'
import type { JWTPayload } from 'jose'
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { serviceUnavailable } from '../errors.ts'
import { email } from '../requests/fields.ts'

export interface UserTokenOptions {
  /** For example, `https://auth.example.com/.well-known/jwks.json`. */
  readonly jwksUrl: string
  /** The required `iss` of the tokens. Its service must verify email addresses. */
  readonly issuer: string
  /** The required `aud`. If it is `undefined`, any audience is accepted. */
  readonly audience?: string | undefined
  readonly now: () => Date
}

/** Returns the verified email address of the user, or `undefined` if the token is not valid. */
export type VerifyUserToken = (token: string) => Promise<string | undefined>

const FIXED = {
  algorithms: ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  leewaySeconds: 5,
  keptMs: 600_000,
} as const

/**
 * Creates the function that checks access tokens of a sign-in service (reference: Tokens of users). That function throws
 * `serviceUnavailable` if it cannot fetch the keys of the service, because the token may be valid.
 */
export function createUserTokenVerifier({ now, ...rules }: UserTokenOptions): VerifyUserToken {
  const issuer = openTokenIssuer({ ...rules, ...FIXED }, { now })
  return async (token) => {
    const claims = await issuer.verify(token).catch(refuseWithoutKeys)
    return claims && verifiedEmail(claims)
  }
}

function refuseWithoutKeys(error: unknown): never {
  throw error instanceof NoKeysError ? serviceUnavailable({ cause: error }) : error
}

const Claims = z.object({
  email: email(),
  email_verified: z.literal(true).optional(),
  is_anonymous: z.literal(false).optional(),
})

function verifiedEmail(claims: JWTPayload): string | undefined {
  return Claims.safeParse(claims).data?.email
}

/** Checks the access tokens of users who call without the API key of an app. */
export interface UserTokens {
  readonly verify: VerifyUserToken
  /** Creates the user with this email address if none exists. The user need not have been invited. */
  readonly register: (email: string) => Promise<void>
}

const SEEN_USERS_MAX = 10_000

const registerQuery = prepareOnCoordinator(
  'user_of_email',
  (p: { email: string }) => sql<{ id: string }>`SELECT (${sql.table('user_of_email')}(${p.email})).id`,
)

export function openUserTokens(pools: Pools, options: UserTokenOptions): UserTokens {
  return createUserTokens(pools, createUserTokenVerifier(options))
}

/** Creates the verifier of users' tokens. The verifier caches which users exist, because users are never deleted. */
export function createUserTokens(pools: Pools, verify: VerifyUserToken): UserTokens {
  const seen = new LRUCache<string, true>({ max: SEEN_USERS_MAX })
  return {
    verify,
    register: async (email: string): Promise<void> => {
      if (seen.has(email)) return
      await pools.write.one(registerQuery, { email })
      seen.set(email, true)
    },
  }
}
