import { z } from 'zod'
import type { ConfiguredProvider } from './configured-provider.ts'
import { describesEmail, toCustomProfile } from './custom-profile.ts'
import type { CustomProviderSettings } from './custom-provider.ts'
import { toForeignKey } from './foreign-json.ts'
import type { ExternalProfile, IdTokenRules, OAuth2Provider, ProviderApi } from './provider.ts'
import { customIssuerOf, subjectsOf } from './subjects.ts'

type Oidc = Extract<CustomProviderSettings, { provider_type: 'oidc' }>
const Claims = z.record(z.string(), z.unknown())

/** The service's account at a custom provider, with its secret in the clear. */
export interface CustomAccount {
  readonly identifier: string
  readonly settings: CustomProviderSettings
  readonly secret: string
  readonly externalUrl: string
}

/** A custom provider in the form of a fixed one. Its URLs are data, so they must be https. */
export function defineCustomProvider(account: CustomAccount): ConfiguredProvider<OAuth2Provider> {
  const { identifier, settings, secret } = account
  return {
    name: identifier,
    provider: settings.provider_type === 'oidc' ? defineOidc(settings, secret) : defineOAuth2(settings),
    account: { clientId: settings.client_id, secret, redirectUri: redirectUriOf(account), baseUrl: '' },
    clientIds: [settings.client_id, ...settings.acceptable_client_ids],
    emailOptional: settings.email_optional,
    checksNonce: !settings.skip_nonce_check,
    origin: 'data',
    subjects: subjectsOf(settings),
  }
}

/** The redirect URI of a custom provider. It is the service's own, so that an admin cannot send codes elsewhere. */
export function redirectUriOf({ identifier, settings, externalUrl }: Omit<CustomAccount, 'secret'>): string {
  const shared = `${externalUrl.replace(/\/$/, '')}/callback`
  return settings.callback === 'own' ? `${shared}/${identifier}` : shared
}

const common = ({ scopes, pkce_enabled: usesPkce, authorization_params: authorizeParams }: CustomProviderSettings) =>
  ({ protocol: 'oauth2', scopes, takesScopes: true, usesPkce, authorizeParams }) as const

function defineOAuth2(settings: Exclude<CustomProviderSettings, Oidc>): OAuth2Provider {
  return {
    ...common(settings),
    issuer: customIssuerOf(settings),
    authorizeUrl: settings.authorization_url,
    tokenUrl: settings.token_url,
    clientAuth: 'basic-or-post',
    identify: async ({ get }) => toCustomProfile(settings, [await get(settings.userinfo_url, Claims)]),
  }
}

function defineOidc(settings: Oidc, secret: string): OAuth2Provider {
  const { discovery_document: metadata } = settings
  const takesBasic = metadata.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true
  return {
    ...common(settings),
    issuer: customIssuerOf(settings),
    authorizeUrl: metadata.authorization_endpoint,
    tokenUrl: metadata.token_endpoint,
    clientAuth: takesBasic ? 'basic-or-post' : 'post',
    promisesIss: metadata.authorization_response_iss_parameter_supported === true,
    idTokens: {
      keysOf: (issuer) => (issuer === metadata.issuer ? { jwksUrl: metadata.jwks_uri, origin: 'data' } : undefined),
      nonce: 'checked',
      secret: findTokenSecret(settings, secret),
      readProfile: (claims) => toCustomProfile(settings, [claims]),
    },
    identify: (api) => readProfile(settings, api),
  }
}

/** Takes the profile from the id_token, and asks the provider for what it does not say of the email address. */
async function readProfile(settings: Oidc, { getClaims, idTokenClaims }: ProviderApi): Promise<ExternalProfile> {
  const claims = await idTokenClaims()
  const { userinfo_endpoint: userinfo } = settings.discovery_document
  if (userinfo === undefined || describesEmail(settings, claims)) return toCustomProfile(settings, [claims])
  const profile = await getClaims(userinfo)
  const [asked, described] = [claims, profile].map(({ sub }) => toForeignKey(sub))
  // Otherwise the answer may be about another user (OpenID Connect Core, section 5.3.2).
  if (asked === undefined || asked !== described) throw new Error('the profile is of another user than the id_token')
  return toCustomProfile(settings, [claims, profile])
}

/** The shortest secret whose guesses take longer than a token is worth (RFC 7518, section 3.2). */
const HMAC_BYTES_MIN = 32

/**
 * The secret that may sign id_tokens, where the metadata or the operator say that the provider uses it. The client must have a
 * secret that is its own: not one that apps hold, and not one that is short.
 */
function findTokenSecret(settings: Oidc, secret: string): IdTokenRules['secret'] {
  const { discovery_document: metadata, id_token_signed_response_alg: chosen, client_id: clientId } = settings
  const isListed = metadata.id_token_signing_alg_values_supported?.includes('HS256')
  const isUsed = chosen === undefined ? isListed : chosen === 'HS256'
  const isPublic = metadata.token_endpoint_auth_methods_supported?.every((method) => method === 'none')
  const bytes = new TextEncoder().encode(secret)
  return isUsed && !isPublic && bytes.length >= HMAC_BYTES_MIN ? { bytes, clientId } : undefined
}
