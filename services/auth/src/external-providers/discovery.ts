import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import { outboundFetch } from '@trestle/common/outbound/outbound-fetch.ts'
import { customFetch, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi'
import { z } from 'zod'

const Endpoint = z.url({ protocol: /^https$/ })
/** The metadata of an issuer (OpenID Connect Discovery 1.0), as far as they are used here. */
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
 * Fetches the metadata of an issuer, over https only, because the URL comes from the database.
 * @param discoveryUrl where the metadata are, when not at the well-known place
 * @throws Error when the metadata cannot be fetched, are incomplete, or name another issuer
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
