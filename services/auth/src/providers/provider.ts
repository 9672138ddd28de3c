import type { z } from 'zod'
import type { IdTokenClaims, IdTokenRules } from './id-token.ts'

/** What a provider knows the service by: from the settings, or from the row of a custom provider. */
export interface ClientAccount {
  readonly clientId: string
  readonly secret: string
  readonly redirectUri: string
  /** Own address of gitlab and keycloak, without a slash at its end; empty for others. */
  readonly baseUrl: string
  /** Connections and organisations of workos whose word for an address counts. */
  readonly trustedConnections?: readonly string[]
}

/** An address as a provider lists it, not normalised. */
export interface ListedEmail {
  readonly email: string | null | undefined
  readonly isVerified: boolean
  /** The provider does not say so, though it could. */
  readonly isAssumed?: boolean
  readonly isPrimary?: boolean
}

/** A person as a provider describes them. Members that are empty count as absent. */
export interface ExternalProfile {
  /** Who it is at the provider: unique there, and never another person's. */
  readonly subject: string
  /** Default: that of the provider. */
  readonly issuer?: Text
  readonly emails: readonly ListedEmail[]
  readonly name?: Text
  /** Default: `name`. */
  readonly fullName?: Text
  readonly picture?: Text
  /** Default: `picture`. */
  readonly avatarUrl?: Text
  readonly userName?: Text
  readonly preferredUsername?: Text
  readonly nickname?: Text
  readonly customClaims?: Readonly<Record<string, unknown>>
}

type Text = string | null | undefined

/** What the exchange of a code has given. */
export interface Grant {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly idToken: string | undefined
  /** The whole answer of the token endpoint. */
  readonly answer: Readonly<Record<string, unknown>>
  /** The form field `user` of Apple's callback: a name that the provider vouches for, in JSON. */
  readonly userField: string | undefined
}

/** How a provider is asked about the person behind a grant. */
export interface ProviderApi {
  /** Reads JSON with the access token. @throws Error when the answer is not 2xx, or not what the schema says */
  get<Schema extends z.ZodType>(
    url: string,
    schema: Schema,
    headers?: Readonly<Record<string, string>>,
  ): Promise<z.output<Schema>>
  /** Verifies the id_token of the grant. @throws Error when there is none, or it is not good */
  idTokenClaims(): Promise<IdTokenClaims>
}

interface CommonProvider {
  /** `iss` of the identities that come from it. */
  readonly issuer: string
  readonly authorizeUrl: string
}

/** A provider that speaks OAuth 2.0, with or without OpenID Connect. */
export interface OAuth2Provider extends CommonProvider {
  readonly protocol: 'oauth2'
  readonly tokenUrl: string
  /** Asked for always. */
  readonly scopes: readonly string[]
  /** Whether a caller may ask for more. */
  readonly takesScopes: boolean
  readonly clientAuth: 'basic' | 'post' | 'basic-or-post'
  /** Whether the code is bound to a verifier of ours (RFC 7636). */
  readonly usesPkce: boolean
  /** Sent with the authorization request, unless the caller gives another value. */
  readonly authorizeParams?: Readonly<Record<string, string>>
  /** Where the provider issues id_tokens. */
  readonly idTokens?: IdTokenRules
  identify(api: ProviderApi, grant: Grant): Promise<ExternalProfile>
}

/** A provider that speaks OAuth 1.0a (RFC 5849). */
export interface OAuth1Provider extends CommonProvider {
  readonly protocol: 'oauth1a'
  readonly requestTokenUrl: string
  readonly accessTokenUrl: string
  identify(api: Pick<ProviderApi, 'get'>): Promise<ExternalProfile>
}

/** What a file of `providers/` exports. */
export type DefineProvider<Kind = OAuth2Provider> = (account: ClientAccount) => Kind
