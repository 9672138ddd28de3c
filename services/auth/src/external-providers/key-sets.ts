import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import type { JWTVerifyGetKey } from 'jose'
import { LRUCache } from 'lru-cache'
import { discoverMetadata } from './discovery.ts'

/** The place of the public keys of an issuer. */
export type KeySource =
  | { readonly jwksUrl: string; readonly origin?: 'operator' | 'data' }
  /** The issuer whose metadata name the URL. */
  | { readonly discoveredAt: string }

/**
 * The public keys of providers, kept for an hour. For an unknown key they are fetched again, at most every
 * half minute. The type is what callers need; `deps.ts` builds the real one, which calls the providers.
 */
export interface KeySets {
  find(source: KeySource): Promise<JWTVerifyGetKey>
}

const LIFETIME_MS = 3_600_000
const TIMEOUT_MS = 10_000
/** Each tenant of Azure has its own keys. */
const SETS_MAX = 500

/**
 * The public keys of providers, for one process. Keys are read again after an hour; origins `operator` and `data` share none,
 * since other addresses are allowed to them.
 */
export function createKeySets(outbound: Outbound): KeySets {
  const sets = new LRUCache<string, JWTVerifyGetKey>({ max: SETS_MAX })
  const addresses = new LRUCache<string, string>({ max: SETS_MAX, ttl: LIFETIME_MS })
  const open = async (jwksUrl: string, origin: 'operator' | 'data'): Promise<JWTVerifyGetKey> => {
    const { openRemoteKeys } = await import('@trestle/common/outbound/remote-keys.ts')
    const known = sets.get(`${origin} ${jwksUrl}`)
    if (known) return known
    const keys = openRemoteKeys({ outbound, url: jwksUrl, origin }, { cacheMaxAge: LIFETIME_MS, timeoutMs: TIMEOUT_MS })
    sets.set(`${origin} ${jwksUrl}`, keys)
    return keys
  }
  return {
    find: async (source) => {
      if ('jwksUrl' in source) return open(source.jwksUrl, source.origin ?? 'operator')
      const known = addresses.get(source.discoveredAt)
      const address = known ?? (await discoverMetadata(outbound, { issuer: source.discoveredAt })).jwks_uri
      addresses.set(source.discoveredAt, address)
      return open(address, 'data')
    },
  }
}
