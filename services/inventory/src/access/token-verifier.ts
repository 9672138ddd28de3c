import { openConfiguredKeys } from '@trestle/common/outbound/remote-keys.ts'
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
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
  /** Undefined when the token is not good. @throws serviceUnavailable while there are no keys to tell by */
  verify(token: string): Promise<Identity | undefined>
  /** How many keys the service publishes that signs tokens. */
  countKeys(): Promise<number>
}

export interface KeyReading {
  readonly now: () => Date
  /** Hears of every try to read the keys again that failed, and until when those from before stay good. */
  readonly onKept?: (error: unknown, until: Date) => void
}

/** Asymmetric only: whoever could check tokens with a shared secret could make them. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']
/** What jose says when the keys cannot be fetched or read; all else is wrong with the token. */
const KEYS_ARE_AWAY: ReadonlySet<string> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'])
const LEEWAY_SECONDS = 30

/** Verifies access tokens of the authentication service (reference: Access tokens). */
export function createTokenVerifier(rules: TokenRules, reading: KeyReading): TokenVerifier {
  const keys = openKeptKeys(rules.jwksUrl, reading)
  const readClaims = async (token: string): Promise<JWTPayload | undefined> => {
    try {
      const { payload } = await jwtVerify(token, keys.find, {
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
      if (isAway && !keys.areGood()) throw serviceUnavailable({ cause: error })
      return undefined
    }
  }
  return {
    verify: async (token) => {
      const claims = await readClaims(token)
      if (claims?.sub === undefined || !isActor(claims.sub)) return undefined
      return { actor: claims.sub, scopes: scopesOf(claims, rules) }
    },
    countKeys: keys.count,
  }
}

/** How many keys a service publishes that signs tokens. */
export async function countPublishedKeys(url: string): Promise<number> {
  const keys = openConfiguredKeys(url, { timeoutMs: FETCH_MS })
  await keys.reload()
  return keys.jwks()?.keys.length ?? 0
}

const FETCH_MS = 5_000
/** An unknown `kid` asks for the keys again, but no more often; nor do keys that could not be read again. */
const COOLDOWN_MS = 60_000
/** A key that its owner has withdrawn is refused after this time. */
const READ_AGAIN_MS = 600_000
/** Longest outage that the keys from before outlast. */
const KEPT_MS = 86_400_000

/** Keys are read again every ten minutes, and kept for a day while that fails (reference: Signing keys). */
function openKeptKeys(url: string, { now, onKept }: KeyReading) {
  const age = Number.POSITIVE_INFINITY
  const keys = openConfiguredKeys(url, { timeoutMs: FETCH_MS, cooldownDuration: COOLDOWN_MS, cacheMaxAge: age })
  let readAt = Number.NEGATIVE_INFINITY
  let triedAt = Number.NEGATIVE_INFINITY
  let again: Promise<void> | undefined
  const since = (time: number) => now().getTime() - time
  const areGood = () => since(readAt) < KEPT_MS
  const read = async () => {
    await keys.reload()
    readAt = now().getTime()
  }
  const readAgain = () => {
    again ??= read()
      .catch((error: unknown) => onKept?.(error, new Date(readAt + KEPT_MS)))
      .finally(() => {
        triedAt = now().getTime()
        again = undefined
      })
    return again
  }
  const find: JWTVerifyGetKey = async (header, token) => {
    if (keys.jwks() === undefined) await read()
    else if (since(readAt) >= READ_AGAIN_MS) {
      // The first request waits for new keys. Once they are known to be away, none does.
      if (since(triedAt) >= READ_AGAIN_MS) await readAgain()
      else if (since(triedAt) >= COOLDOWN_MS) void readAgain()
      if (!areGood()) throw new errors.JOSEError('the keys could not be read again for too long')
    }
    return keys(header, token)
  }
  const count = async () => {
    await read()
    return keys.jwks()?.keys.length ?? 0
  }
  return { find, count, areGood }
}

const ACTOR_LENGTH_MAX = 255

/** Whether a `sub` can be stored as the actor of a change: PostgreSQL takes neither U+0000 nor half a surrogate pair. */
function isActor(sub: string): boolean {
  return sub !== '' && sub.length <= ACTOR_LENGTH_MAX && sub.isWellFormed() && !sub.includes('\0')
}
