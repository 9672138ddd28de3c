import { z } from 'zod'
import type { ConfiguredProvider } from './configured-provider.ts'
import type { AttributeMapping, CustomProviderSettings } from './custom-provider.ts'
import { InexactNumber, toForeignKey } from './foreign-json.ts'
import type { ExternalProfile, IdTokenClaims, OAuth2Provider, ProviderApi } from './provider.ts'

type Oidc = Extract<CustomProviderSettings, { provider_type: 'oidc' }>
type Claims = Readonly<Record<string, unknown>>

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
    provider: settings.provider_type === 'oidc' ? defineOidc(settings) : defineOAuth2(settings),
    account: { clientId: settings.client_id, secret, redirectUri: redirectUriOf(account), baseUrl: '' },
    clientIds: [settings.client_id, ...settings.acceptable_client_ids],
    emailOptional: settings.email_optional,
    checksNonce: !settings.skip_nonce_check,
    origin: 'data',
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
    issuer: new URL(settings.userinfo_url).origin,
    authorizeUrl: settings.authorization_url,
    tokenUrl: settings.token_url,
    clientAuth: 'basic-or-post',
    identify: async ({ get }) => toProfile(settings, await get(settings.userinfo_url, Claims)),
  }
}

function defineOidc(settings: Oidc): OAuth2Provider {
  const { discovery_document: metadata } = settings
  const takesBasic = metadata.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true
  return {
    ...common(settings),
    issuer: metadata.issuer,
    authorizeUrl: metadata.authorization_endpoint,
    tokenUrl: metadata.token_endpoint,
    clientAuth: takesBasic ? 'basic-or-post' : 'post',
    promisesIss: metadata.authorization_response_iss_parameter_supported === true,
    idTokens: {
      keysOf: (issuer) => (issuer === metadata.issuer ? { jwksUrl: metadata.jwks_uri, origin: 'data' } : undefined),
      nonce: 'checked',
      readProfile: (claims) => toProfile(settings, claims),
    },
    identify: async (api) => toProfile(settings, await readClaims(settings, api)),
  }
}

/** Takes the profile from the id_token, and asks the provider for what it lacks, above all the email address. */
async function readClaims(settings: Oidc, { get, idTokenClaims }: ProviderApi): Promise<IdTokenClaims> {
  const claims = await idTokenClaims()
  const { userinfo_endpoint: userinfo } = settings.discovery_document
  if (userinfo === undefined || attribute(settings.attribute_mapping, claims, 'email') !== undefined) return claims
  const profile = await get(userinfo, Claims)
  // Otherwise the answer may be about another user (OpenID Connect Core, section 5.3.2).
  if (toForeignKey(profile.sub) !== toForeignKey(claims.sub))
    throw new Error('the profile is of another user than the id_token')
  return { ...profile, ...claims }
}

const Claims = z.record(z.string(), z.unknown())

function toProfile(settings: CustomProviderSettings, claims: Claims): ExternalProfile {
  const read = (name: keyof AttributeMapping) => attribute(settings.attribute_mapping, claims, name)
  const names = settings.custom_claims_allowlist.filter((name) => Object.hasOwn(claims, name))
  return {
    subject: toForeignKey(claimOf(settings.attribute_mapping, claims, 'sub')) ?? '',
    emails: [{ email: read('email'), isVerified: read('email_verified') === 'true' }],
    name: read('name'),
    fullName: read('full_name'),
    picture: read('picture'),
    avatarUrl: read('avatar_url'),
    userName: read('user_name'),
    preferredUsername: read('preferred_username'),
    nickname: read('nickname'),
    customClaims: Object.fromEntries(names.map((name) => [name, claims[name]])),
  }
}

/** An attribute as text. Accepts numbers and booleans too. */
function attribute(mapping: AttributeMapping, claims: Claims, name: keyof AttributeMapping): string | undefined {
  const value = claimOf(mapping, claims, name)
  const isText = ['string', 'number', 'boolean'].includes(typeof value) || value instanceof InexactNumber
  return isText ? String(value) : undefined
}

function claimOf(mapping: AttributeMapping, claims: Claims, name: keyof AttributeMapping): unknown {
  const source = mapping[name] ?? name
  return source.startsWith('/') ? resolvePointer(claims, source) : claims[source]
}

/** Finds a value by JSON pointer (RFC 6901). */
function resolvePointer(document: unknown, pointer: string): unknown {
  const steps = pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce<unknown>(
    (value, step): unknown =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined,
    document,
  )
}
