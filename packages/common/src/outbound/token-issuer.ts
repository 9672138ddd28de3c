import { isUtf8 } from 'node:buffer'
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
  type RemoteJWKSet,
  type RemoteJWKSetOptions,
} from 'jose'
import { createOutbound, hostOf, type Outbound, type OutboundRequest } from './outbound.ts'
import { outboundFetch } from './outbound-fetch.ts'

/** The rules by which access tokens of an authentication service are valid. */
export interface TokenIssuerRules {
  /** The URL of the service's public keys. An operator sets it, so the host may be in the internal network. */
  readonly jwksUrl: string
  readonly issuer: string
  /** The required `aud`. If `undefined`, any audience is accepted. */
  readonly audience?: string | undefined
  /** Accepted algorithms, all asymmetric: a service that shares a secret to check tokens could also create tokens. */
  readonly algorithms: readonly string[]
  readonly leewaySeconds: number
  /** How long keys stay valid if they cannot be read again: at least the ten minutes of the read interval. */
  readonly keptMs: number
}

export interface TokenIssuerOptions {
  readonly now: () => Date
  /** Called if the keys cannot be read again, with the time until which the old keys stay valid. */
  readonly onReadFailure?: (error: unknown, until: Date) => void
}

export interface TokenIssuer {
  /** The claims of a valid token, with `sub` and `exp`, or `undefined` for any other token. @throws NoKeysError */
  verify(token: string): Promise<JWTPayload | undefined>
  /** The number of keys that the service publishes now. @throws Error if they cannot be read */
  countKeys(): Promise<number>
}

/** No key is available to check a token. The token may be valid. */
export class NoKeysError extends Error {
  override readonly name = 'NoKeysError'
}

const FETCH_MS = 5_000
/** The minimum interval of reads after an unknown `kid`, or after a failure while the old keys are valid. */
const COOLDOWN_MS = 60_000
/** The minimum interval between two reads while no key is valid. Without it, anybody could make each request read the keys. */
const RETRY_MS = 5_000
/** The interval at which keys are read again. After it, a withdrawn key is refused. */
const FRESH_MS = 600_000

/**
 * Returns the verifier for tokens of an authentication service.
 * @see RFC 7519, RFC 8725
 */
export function openTokenIssuer(rules: TokenIssuerRules, options: TokenIssuerOptions): TokenIssuer {
  const { issuer, audience, algorithms, leewaySeconds } = rules
  const keys = keepKeys(rules, options)
  const expected = { issuer, ...(audience === undefined ? {} : { audience }), algorithms: [...algorithms] }
  return {
    verify: async (token) => {
      // The library replaces bytes that are not UTF-8. A claim would then differ from the signed one.
      if (!isUtf8(Buffer.from(token.split('.')[1] ?? '', 'base64url'))) return undefined
      const times = { clockTolerance: leewaySeconds, requiredClaims: ['sub', 'exp'], currentDate: options.now() }
      try {
        const { payload } = await jwtVerify(token, keys.find, { ...expected, ...times })
        // The library checks only that the claim exists.
        return typeof payload.sub === 'string' && payload.sub !== '' ? payload : undefined
      } catch (error) {
        // While the old keys are valid, a token with an unknown key is invalid, even if the keys could not be read again.
        if (isWithoutKeys(error) && !keys.areGood()) throw new NoKeysError('no key can be read', { cause: error })
        return undefined
      }
    },
    countKeys: keys.count,
  }
}

/** Reads the keys at a URL once. Resolves to their number. @throws Error if they cannot be read */
export async function countPublishedKeys(jwksUrl: string): Promise<number> {
  const keys = openKeys(jwksUrl)
  await keys.reload()
  return keys.jwks()?.keys.length ?? 0
}

function openKeys(url: string): RemoteJWKSet {
  const source = { outbound: createOutbound([hostOf(url)]), url, origin: 'operator' } as const
  // The library's cooldown begins only after a successful read. Disable its own reads: `reload` reads.
  const cache = { cooldownDuration: Number.POSITIVE_INFINITY, cacheMaxAge: Number.POSITIVE_INFINITY }
  return openRemoteKeys(source, { timeoutMs: FETCH_MS, ...cache })
}

/** Keeps the keys of a URL. They are read again every ten minutes. If that fails, the old keys stay valid for `keptMs`. */
function keepKeys(
  { jwksUrl, keptMs }: Pick<TokenIssuerRules, 'jwksUrl' | 'keptMs'>,
  { now, onReadFailure }: TokenIssuerOptions,
) {
  const keys = openKeys(jwksUrl)
  let readAtMs = Number.NEGATIVE_INFINITY
  // The end of the last attempt to read the keys, successful or not. Parallel callers share an attempt.
  let triedAtMs = Number.NEGATIVE_INFINITY
  let failure: unknown
  let reading: Promise<void> | undefined
  const msSince = (momentMs: number) => now().getTime() - momentMs
  const areGood = () => msSince(readAtMs) < keptMs
  const tryToRead = async () => {
    failure = undefined
    try {
      await keys.reload()
      readAtMs = now().getTime()
    } catch (error) {
      failure = error
      if (keys.jwks() !== undefined) onReadFailure?.(error, new Date(readAtMs + keptMs))
    } finally {
      triedAtMs = now().getTime()
      reading = undefined
    }
  }
  /** Waits for the running attempt. If none is running, starts one, unless the last attempt ended less than `pauseMs` ago. */
  const readAfter = async (pauseMs: number) => {
    if (reading === undefined && msSince(triedAtMs) < pauseMs) return
    reading ??= tryToRead()
    await reading
  }
  const find: JWTVerifyGetKey = async (header, token) => {
    if (!areGood()) await readAfter(RETRY_MS)
    // Only the first request waits for new keys. After a failure, requests use the old keys while these are valid.
    else if (msSince(readAtMs) >= FRESH_MS && msSince(triedAtMs) >= FRESH_MS) await readAfter(0)
    else if (msSince(readAtMs) >= FRESH_MS) void readAfter(COOLDOWN_MS)
    if (!areGood()) throw failure ?? new errors.JOSEError('the keys could not be read again for too long')
    try {
      return await keys(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      await readAfter(COOLDOWN_MS)
      return keys(header, token)
    }
  }
  const count = async () => {
    await readAfter(0)
    if (failure !== undefined) throw failure
    return keys.jwks()?.keys.length ?? 0
  }
  return { find, count, areGood }
}

/**
 * How long to wait for keys, to cache them, and to wait before the next fetch, in milliseconds.
 * @see https://github.com/panva/jose/blob/main/docs/jwks/remote/interfaces/RemoteJWKSetOptions.md
 */
export interface RemoteKeysOptions extends Pick<RemoteJWKSetOptions, 'cacheMaxAge' | 'cooldownDuration'> {
  readonly timeoutMs: number
}

interface RemoteKeysSource extends Pick<OutboundRequest, 'url' | 'origin'> {
  readonly outbound: Outbound
}

/** Returns the public keys (JWKS) of an issuer. The guarded client fetches them on first use. */
export function openRemoteKeys(
  { outbound, url, origin }: RemoteKeysSource,
  { timeoutMs, ...cache }: RemoteKeysOptions,
): RemoteJWKSet {
  return createRemoteJWKSet(new URL(url), {
    ...cache,
    timeoutDuration: timeoutMs,
    [customFetch]: outboundFetch(outbound, origin, timeoutMs),
  })
}

/** Error codes of jose for keys that cannot be fetched or parsed. Any other code means that the token is invalid. */
const WITHOUT_KEYS: ReadonlySet<string> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'])

/** Returns whether a token check failed because no key could be read. The token may be valid. */
export function isWithoutKeys(error: unknown): boolean {
  return !(error instanceof errors.JOSEError) || WITHOUT_KEYS.has(error.code)
}
