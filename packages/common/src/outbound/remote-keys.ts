import { createRemoteJWKSet, customFetch, type RemoteJWKSet, type RemoteJWKSetOptions } from 'jose'
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
