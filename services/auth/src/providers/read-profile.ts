import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import { outboundFetch } from '@trestle/common/outbound/outbound-fetch.ts'
import { allowInsecureRequests, customFetch, protectedResourceRequest } from 'oauth4webapi'
import type { ConfiguredProvider } from './configured-provider.ts'
import { matchesAccessToken, verifyIdToken } from './id-token.ts'
import type { KeySets } from './key-sets.ts'
import type { ExternalProfile, Grant, OAuth2Provider, ProviderApi } from './provider.ts'

interface ProfileDeps {
  readonly outbound: Outbound
  readonly keySets: KeySets
  readonly now: () => Date
}

/** Reads the profile of the user who has signed in. @throws Error when the provider gives none, or an invalid one */
export function readProfile(
  { outbound, keySets, now }: ProfileDeps,
  { provider, clientIds, origin }: ConfiguredProvider<OAuth2Provider>,
  grant: Grant,
): Promise<ExternalProfile> {
  const send = outboundFetch(outbound, origin)
  const get: ProviderApi['get'] = async (url, schema, headers) => {
    const response = await protectedResourceRequest(
      grant.accessToken,
      'GET',
      new URL(url),
      new Headers({ accept: 'application/json', ...headers }),
      null,
      { [customFetch]: send, [allowInsecureRequests]: origin === 'operator' },
    )
    if (!response.ok) throw new Error(`the provider answered ${response.status} when asked for a profile`)
    return schema.parse(await response.json())
  }
  const idTokenClaims: ProviderApi['idTokenClaims'] = async () => {
    const { idToken, accessToken } = grant
    if (idToken === undefined || !provider.idTokens) throw new Error('the provider has sent no id_token')
    const rules = provider.idTokens
    const { claims, alg } = await verifyIdToken(keySets, idToken, { rules, audiences: clientIds, now: now() })
    if (claims.at_hash !== undefined && !matchesAccessToken(claims.at_hash, accessToken, alg)) {
      throw new Error('the access token is not the one that the id_token came with')
    }
    return claims
  }
  return provider.identify({ get, idTokenClaims }, grant)
}
