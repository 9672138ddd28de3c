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

/** The rules by which access tokens of an authentication service are good. */
export interface TokenIssuerRules {
  /** The URL at which the service publishes its keys. An operator sets it, so the host may be in the internal network. */
  readonly jwksUrl: string
  readonly issuer: string
  /** The required `aud`. Undefined: any audience. */
  readonly audience?: string | undefined
  /** The accepted algorithms, which are asymmetric: a service that checks tokens by a shared secret could also make them. */
  readonly algorithms: readonly string[]
  readonly leewaySeconds: number
  /** How long keys stay good that cannot be read again. At least the ten minutes after which they are read again. */
  readonly keptMs: number
}

export interface TokenIssuerOptions {
  readonly now: () => Date
  /** Called when the keys cannot be read again, with the time until which the old keys stay good. */
  readonly onReadFailure?: (error: unknown, until: Date) => void
}

export interface TokenIssuer {
  /** The claims of a good token, `sub` and `exp` among them; undefined for any other. @throws NoKeysError */
  verify(token: string): Promise<JWTPayload | undefined>
  /** How many keys the service publishes now. @throws Error when they cannot be read */
  countKeys(): Promise<number>
}

/** No key can be read to check a token with. It may be a good one. */
export class NoKeysError extends Error {
  override readonly name = 'NoKeysError'
}

const FETCH_MS = 5_000
/** The keys are not read more often than this for an unknown `kid`, or after a failure while the old keys are good. */
const COOLDOWN_MS = 60_000
/** The keys are not read more often than this while no key is good: until then, anybody could make each request read them. */
const RETRY_MS = 5_000
/** The keys are read again after this time, so a withdrawn key is refused from then on. */
const FRESH_MS = 600_000

/**
 * Returns the verifier of the tokens of an authentication service.
 * @see RFC 7519, RFC 8725
 */
export function openTokenIssuer(rules: TokenIssuerRules, options: TokenIssuerOptions): TokenIssuer {
  const { issuer, audience, algorithms, leewaySeconds } = rules
  const keys = keepKeys(rules, options)
  const expected = { issuer, ...(audience === undefined ? {} : { audience }), algorithms: [...algorithms] }
  return {
    verify: async (token) => {
      // The library replaces bytes that are not UTF-8, so a claim would be another than the issuer has signed.
      if (!isUtf8(Buffer.from(token.split('.')[1] ?? '', 'base64url'))) return undefined
      const times = { clockTolerance: leewaySeconds, requiredClaims: ['sub', 'exp'], currentDate: options.now() }
      try {
        const { payload } = await jwtVerify(token, keys.find, { ...expected, ...times })
        // The library looks only whether the claim is there.
        return typeof payload.sub === 'string' && payload.sub !== '' ? payload : undefined
      } catch (error) {
        // While the old keys are good, a token with an unknown key is not, even if the keys could not be read again.
        if (isWithoutKeys(error) && !keys.areGood()) throw new NoKeysError('no key can be read', { cause: error })
        return undefined
      }
    },
    countKeys: keys.count,
  }
}

/** Reads the keys at a URL once. Resolves to how many there are. @throws Error when they cannot be read */
export async function countPublishedKeys(jwksUrl: string): Promise<number> {
  const keys = openKeys(jwksUrl)
  await keys.reload()
  return keys.jwks()?.keys.length ?? 0
}

function openKeys(url: string): RemoteJWKSet {
  const source = { outbound: createOutbound([hostOf(url)]), url, origin: 'operator' } as const
  // The library waits only after a read that succeeded, and not in parallel with another. So it reads when it is asked alone.
  const cache = { cooldownDuration: Number.POSITIVE_INFINITY, cacheMaxAge: Number.POSITIVE_INFINITY }
  return openRemoteKeys(source, { timeoutMs: FETCH_MS, ...cache })
}

/** The keys at a URL. They are read again every ten minutes, and kept for a time while that fails. */
function keepKeys(
  { jwksUrl, keptMs }: Pick<TokenIssuerRules, 'jwksUrl' | 'keptMs'>,
  { now, onReadFailure }: TokenIssuerOptions,
) {
  const keys = openKeys(jwksUrl)
  let readAtMs = Number.NEGATIVE_INFINITY
  // The end of the last try of any kind. Parallel callers share a try.
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
  /** Joins the try that runs, or begins one where the last is this long ago. */
  const readAfter = async (pauseMs: number) => {
    if (reading === undefined && msSince(triedAtMs) < pauseMs) return
    reading ??= tryToRead()
    await reading
  }
  const find: JWTVerifyGetKey = async (header, token) => {
    if (!areGood()) await readAfter(RETRY_MS)
    // The first request waits for new keys. After a failed try, no request waits for the next one, while the old ones are good.
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
 * How long keys are waited for, cached and not fetched again, in milliseconds.
 * @see https://github.com/panva/jose/blob/main/docs/jwks/remote/interfaces/RemoteJWKSetOptions.md
 */
export interface RemoteKeysOptions extends Pick<RemoteJWKSetOptions, 'cacheMaxAge' | 'cooldownDuration'> {
  readonly timeoutMs: number
}

interface RemoteKeysSource extends Pick<OutboundRequest, 'url' | 'origin'> {
  readonly outbound: Outbound
}

/** Returns the public keys (JWKS) of an issuer. The guarded client fetches them when they are first needed. */
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

/** Codes of jose for keys that cannot be fetched or parsed. Any other code means that the token is not good. */
const WITHOUT_KEYS: ReadonlySet<string> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'])

/** Whether a check of a token failed because no key could be read. The token may be a good one. */
export function isWithoutKeys(error: unknown): boolean {
  return !(error instanceof errors.JOSEError) || WITHOUT_KEYS.has(error.code)
}
