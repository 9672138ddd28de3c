import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import { outboundFetch } from '@trestle/common/outbound/outbound-fetch.ts'
import type { JWTVerifyGetKey, RemoteJWKSet } from 'jose'
import { LRUCache } from 'lru-cache'
import { customFetch, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi'
import { z } from 'zod'

/** The location of an issuer's public keys. */
export type KeySource =
  | { readonly jwksUrl: string; readonly origin?: 'operator' | 'data' }
  /** The issuer whose metadata contain the URL. */
  | { readonly discoveredAt: string }

/**
 * The public keys of providers, cached for an hour. For an unknown key they are fetched again, at most every half minute. After a
 * failure, nothing is fetched for five seconds, because any client may send tokens of an unreachable provider. Callers use this
 * type. `deps.ts` creates the real one, which calls the providers.
 */
export interface KeySets {
  find(source: KeySource): Promise<JWTVerifyGetKey>
}

const LIFETIME_MS = 3_600_000
const TIMEOUT_MS = 10_000
/** After a failure, the same URL is not called for this time. */
const PAUSE_MS = 5_000
/** Large enough for Azure, where each tenant has its own keys. */
const SETS_MAX = 500

/** Keys expire after an hour. Origins `operator` and `data` share no keys, because they may call different addresses. */
export function createKeySets(outbound: Outbound, now: () => Date): KeySets {
  const sets = new LRUCache<string, JWTVerifyGetKey>({ max: SETS_MAX })
  const addresses = new LRUCache<string, string>({ max: SETS_MAX, ttl: LIFETIME_MS })
  const pauses = openPauses(now)
  const open = async (jwksUrl: string, origin: 'operator' | 'data'): Promise<JWTVerifyGetKey> => {
    const { isWithoutKeys, openRemoteKeys } = await import('@trestle/common/outbound/token-issuer.ts')
    const jose = await import('jose')
    const name = `${origin} ${jwksUrl}`
    const known = sets.get(name)
    if (known) return known
    const cache = { cacheMaxAge: LIFETIME_MS, timeoutMs: TIMEOUT_MS }
    const remote = openRemoteKeys({ outbound, url: jwksUrl, origin }, cache)
    const keys = withPauses({ ...jose, isWithoutKeys }, { name, keys: remote }, pauses)
    sets.set(name, keys)
    return keys
  }
  const discover = async (issuer: string): Promise<string> => {
    const failure = pauses.failureOf(issuer)
    if (failure !== undefined) throw failure.error
    try {
      return (await discoverMetadata(outbound, { issuer })).jwks_uri
    } catch (error) {
      pauses.begin(issuer, error)
      throw error
    }
  }
  return {
    find: async (source) => {
      if ('jwksUrl' in source) return open(source.jwksUrl, source.origin ?? 'operator')
      const address = addresses.get(source.discoveredAt) ?? (await discover(source.discoveredAt))
      addresses.set(source.discoveredAt, address)
      return open(address, 'data')
    },
  }
}

/** Stores the failures of the last seconds by address. */
function openPauses(now: () => Date) {
  const failures = new LRUCache<string, { readonly error: unknown; readonly atMs: number }>({ max: SETS_MAX })
  return {
    failureOf: (name: string) => {
      const failure = failures.get(name)
      return failure !== undefined && now().getTime() - failure.atMs < PAUSE_MS ? failure : undefined
    },
    begin: (name: string, error: unknown): void => void failures.set(name, { error, atMs: now().getTime() }),
  }
}

/** Modules that are loaded for the first token. */
type KeyReading = Pick<typeof import('jose'), 'createLocalJWKSet' | 'errors'> &
  Pick<typeof import('@trestle/common/outbound/token-issuer.ts'), 'isWithoutKeys'>

/** Adds a pause after failed reads. The library pauses only after successful reads. */
function withPauses(
  { createLocalJWKSet, errors, isWithoutKeys }: KeyReading,
  { name, keys }: { readonly name: string; readonly keys: RemoteJWKSet },
  pauses: ReturnType<typeof openPauses>,
): JWTVerifyGetKey {
  return async (header, token) => {
    const failure = pauses.failureOf(name)
    const held = keys.jwks()
    if (failure !== undefined) {
      // Fresh keys stay valid. A missing key may belong to a set that could not be read, so report that failure.
      if (held === undefined || !keys.fresh) throw failure.error
      return createLocalJWKSet(held)(header, token).catch((error: unknown) => {
        throw error instanceof errors.JWKSNoMatchingKey ? failure.error : error
      })
    }
    try {
      return await keys(header, token)
    } catch (error) {
      if (isWithoutKeys(error)) pauses.begin(name, error)
      throw error
    }
  }
}

const Endpoint = z.url({ protocol: /^https$/ })
/** The members of an issuer's metadata (OpenID Connect Discovery 1.0) that are used here. */
export const IssuerMetadata = z.object({
  issuer: z.string(),
  authorization_endpoint: Endpoint,
  token_endpoint: Endpoint,
  jwks_uri: Endpoint,
  userinfo_endpoint: Endpoint.optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
  id_token_signing_alg_values_supported: z.array(z.string()).optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
})

type IssuerMetadata = z.output<typeof IssuerMetadata>

/**
 * Fetches the metadata of an issuer, only over https, because the URL comes from the database.
 * @param discoveryUrl the location of the metadata, if it is not the well-known one
 * @throws Error if the metadata cannot be fetched, are incomplete, or contain another issuer
 */
export async function discoverMetadata(
  outbound: Outbound,
  { issuer, discoveryUrl }: { readonly issuer: string; readonly discoveryUrl?: string | undefined },
): Promise<IssuerMetadata> {
  const expected = new URL(issuer)
  const send = outboundFetch(outbound, 'data')
  const response =
    discoveryUrl === undefined
      ? await discoveryRequest(expected, { [customFetch]: send })
      : await send(discoveryUrl, { method: 'GET', headers: { accept: 'application/json' } })
  return IssuerMetadata.parse(await processDiscoveryResponse(expected, response))
}
