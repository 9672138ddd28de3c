import { openConfiguredKeys } from '@trestle/common/outbound/remote-keys.ts'
import { errors, type JWTPayload, jwtVerify } from 'jose'
import { serviceUnavailable } from '../errors.ts'
import { type Scope, type ScopeRules, scopesOf } from './scopes.ts'

export interface TokenRules extends ScopeRules {
  /** `https://auth.example.com/.well-known/jwks.json` */
  readonly jwksUrl: string
  readonly issuer: string
  readonly audience: string
}

/** Whom a token speaks for. */
export interface Identity {
  /** `sub` of the token. */
  readonly actor: string
  readonly scopes: ReadonlySet<Scope>
}

export interface TokenVerifier {
  /** Undefined when the token is not good. @throws serviceUnavailable while no key has ever been had */
  verify(token: string): Promise<Identity | undefined>
  /** How many keys the service publishes that signs tokens. */
  countKeys(): Promise<number>
}

/** Asymmetric only: whoever could check tokens with a shared secret could make them. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']
/** What jose says when the keys cannot be fetched or read; all else is wrong with the token. */
const KEYS_ARE_AWAY: ReadonlySet<string> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'])
const LEEWAY_SECONDS = 30
const FETCH_MS = 5_000
/** An unknown `kid` asks for the keys again, but no more often. */
const COOLDOWN_MS = 60_000

/** Verifies access tokens of the authentication service. The last keys that were had stay good until others are. */
export function createTokenVerifier(rules: TokenRules): TokenVerifier {
  const keys = openConfiguredKeys(rules.jwksUrl, {
    timeoutMs: FETCH_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: Number.POSITIVE_INFINITY,
  })
  const readClaims = async (token: string): Promise<JWTPayload | undefined> => {
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms: ALGORITHMS,
        issuer: rules.issuer,
        audience: rules.audience,
        clockTolerance: LEEWAY_SECONDS,
        requiredClaims: ['sub', 'exp'],
      })
      return payload
    } catch (error) {
      // With keys at hand, one that is not among them is the token's fault, though they could not be asked for again.
      const isAway = !(error instanceof errors.JOSEError) || KEYS_ARE_AWAY.has(error.code)
      if (isAway && keys.jwks() === undefined) throw serviceUnavailable({ cause: error })
      return undefined
    }
  }
  return {
    verify: async (token) => {
      const claims = await readClaims(token)
      if (claims?.sub === undefined || !isActor(claims.sub)) return undefined
      return { actor: claims.sub, scopes: scopesOf(claims, rules) }
    },
    countKeys: async () => {
      await keys.reload()
      return keys.jwks()?.keys.length ?? 0
    },
  }
}

const ACTOR_LENGTH_MAX = 255

/** Whether a `sub` can be stored as the actor of a change: PostgreSQL takes neither U+0000 nor half a surrogate pair. */
function isActor(sub: string): boolean {
  return sub !== '' && sub.length <= ACTOR_LENGTH_MAX && sub.isWellFormed() && !sub.includes('\0')
}
