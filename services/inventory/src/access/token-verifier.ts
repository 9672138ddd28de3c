import {
  NoKeysError,
  openTokenIssuer,
  type TokenIssuer,
  type TokenIssuerOptions,
} from '@trestle/common/outbound/token-issuer.ts'
import { serviceUnavailable } from '../errors.ts'
import { type Identity, type ScopeRules, scopesOf } from './actor.ts'

export interface TokenRules extends ScopeRules {
  /** For example, `https://auth.example.com/.well-known/jwks.json`. */
  readonly jwksUrl: string
  readonly issuer: string
  readonly audience: string
}

export interface TokenVerifier extends Pick<TokenIssuer, 'countKeys'> {
  /** `undefined` for an invalid token. @throws serviceUnavailable if no keys are available */
  verify(token: string): Promise<Identity | undefined>
}

const FIXED = { algorithms: ['RS256', 'ES256', 'EdDSA'], leewaySeconds: 30, keptMs: 86_400_000 } as const

/** Verifies access tokens (reference: Access tokens, Signing keys). */
export function createTokenVerifier(rules: TokenRules, options: TokenIssuerOptions): TokenVerifier {
  const issuer = openTokenIssuer({ ...rules, ...FIXED }, options)
  return {
    verify: async (token) => {
      const claims = await issuer.verify(token).catch(refuseWithoutKeys)
      if (claims?.sub === undefined || !isActor(claims.sub)) return undefined
      return { actor: claims.sub, scopes: scopesOf(claims, rules) }
    },
    countKeys: issuer.countKeys,
  }
}

function refuseWithoutKeys(error: unknown): never {
  throw error instanceof NoKeysError ? serviceUnavailable({ cause: error }) : error
}

const ACTOR_LENGTH_MAX = 255

/** Whether a `sub` can be stored as an actor. PostgreSQL accepts neither U+0000 nor lone surrogates. */
function isActor(sub: string): boolean {
  return sub !== '' && sub.length <= ACTOR_LENGTH_MAX && sub.isWellFormed() && !sub.includes('\0')
}
