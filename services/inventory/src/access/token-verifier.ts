import { openConfiguredKeys } from '@trestle/common/outbound/remote-keys.ts'
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { serviceUnavailable } from '../errors.ts'
import { type Scope, type ScopeRules, scopesOf } from './scopes.ts'

/** Whose tokens are good, and the scopes of roles. */
export interface TokenRules extends ScopeRules {
  /** `https://auth.example.com/.well-known/jwks.json` */
  readonly jwksUrl: string
  readonly issuer: string
  readonly audience: string
}

/** Who a token was issued to. */
export interface Identity {
  /** `sub` of the token. */
  readonly actor: string
  readonly scopes: ReadonlySet<Scope>
}

/** Checks access tokens by the keys that the authentication service publishes. */
export interface TokenVerifier {
  /** Undefined for an invalid token. @throws serviceUnavailable while there are no keys to check it with */
  verify(token: string): Promise<Identity | undefined>
  /** How many keys the authentication service publishes. */
  countKeys(): Promise<number>
}

/** The clock, and whom to tell that keys cannot be read. */
export interface KeyOptions {
  readonly now: () => Date
  /** Called when the keys cannot be read again, with the time until which the old keys stay good. */
  readonly onReadFailure?: (error: unknown, until: Date) => void
}

/** Asymmetric algorithms only: a service that checks tokens with a shared secret could also issue them. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']
/** Codes of jose for keys that cannot be fetched or parsed. Any other code means that the token is invalid. */
const NO_KEYS: ReadonlySet<string> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'])
const LEEWAY_SECONDS = 30

/** Verifies access tokens of the authentication service (reference: Access tokens). */
export function createTokenVerifier(rules: TokenRules, options: KeyOptions): TokenVerifier {
  const keys = openKeys(rules.jwksUrl, options)
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
      // While the old keys are good, a token with an unknown key is invalid, even if the keys could not be read again.
      const isWithoutKeys = !(error instanceof errors.JOSEError) || NO_KEYS.has(error.code)
      if (isWithoutKeys && !keys.areGood()) throw serviceUnavailable({ cause: error })
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

/** Reads the keys at a URL once. Resolves to how many there are. */
export async function countPublishedKeys(url: string): Promise<number> {
  const keys = openConfiguredKeys(url, { timeoutMs: FETCH_MS })
  await keys.reload()
  return keys.jwks()?.keys.length ?? 0
}

const FETCH_MS = 5_000
/** The keys are not read more often than this for an unknown `kid`, or after a failure. */
const COOLDOWN_MS = 60_000
/** The keys are read again after this time, so a withdrawn key is refused from then on. */
const FRESH_MS = 600_000
/** While the keys cannot be read again, the old keys stay good for this time. */
const KEPT_MS = 86_400_000

/** The keys at a URL. They are read again every ten minutes, and kept for a day while that fails (reference: Signing keys). */
function openKeys(url: string, { now, onReadFailure }: KeyOptions) {
  const age = Number.POSITIVE_INFINITY
  const keys = openConfiguredKeys(url, { timeoutMs: FETCH_MS, cooldownDuration: COOLDOWN_MS, cacheMaxAge: age })
  let readAt = Number.NEGATIVE_INFINITY
  let triedAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  const since = (time: number) => now().getTime() - time
  const areGood = () => since(readAt) < KEPT_MS
  const read = async () => {
    await keys.reload()
    readAt = now().getTime()
  }
  const readAgain = () => {
    reading ??= read()
      .catch((error: unknown) => onReadFailure?.(error, new Date(readAt + KEPT_MS)))
      .finally(() => {
        triedAt = now().getTime()
        reading = undefined
      })
    return reading
  }
  const find: JWTVerifyGetKey = async (header, token) => {
    if (keys.jwks() === undefined) await read()
    else if (since(readAt) >= FRESH_MS) {
      // The first request waits for new keys. After a failed try, no request waits for the next one.
      if (since(triedAt) >= FRESH_MS) await readAgain()
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

/** Whether a `sub` can be stored as the actor of a change. PostgreSQL stores neither U+0000 nor half a surrogate pair. */
function isActor(sub: string): boolean {
  return sub !== '' && sub.length <= ACTOR_LENGTH_MAX && sub.isWellFormed() && !sub.includes('\0')
}
