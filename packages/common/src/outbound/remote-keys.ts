import { createRemoteJWKSet, customFetch, errors, type RemoteJWKSet, type RemoteJWKSetOptions } from 'jose'
import type { Outbound, OutboundRequest } from './outbound.ts'
import { outboundFetch } from './outbound-fetch.ts'

/**
 * How long keys are waited for, cached and not fetched again, in milliseconds.
 * @see https://github.com/panva/jose/blob/main/docs/jwks/remote/interfaces/RemoteJWKSetOptions.md
 */
export interface RemoteKeysOptions extends Pick<RemoteJWKSetOptions, 'cacheMaxAge' | 'cooldownDuration'> {
  /** Longest wait for the keys. */
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
