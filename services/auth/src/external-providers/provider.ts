import type { z } from 'zod'
import type { KeySource } from './key-sets.ts'

/** The service's account at a provider, from the settings or from the row of a custom provider. */
export interface ClientAccount {
  readonly clientId: string
  readonly secret: string
  readonly redirectUri: string
  /** The URL of the settings, without a slash at its end; empty where the provider has its usual addresses. */
  readonly baseUrl: string
  /** Connections and organizations of WorkOS whose email addresses count as verified. */
  readonly trustedConnections?: readonly string[]
}

/** An email address as a provider lists it, not normalised. */
export interface ListedEmail {
  readonly email: string | null | undefined
  readonly isVerified: boolean
  /** Whether the provider could say that the address is verified, but does not. */
  readonly isAssumed?: boolean
  readonly isPrimary?: boolean
}

/** A user's profile at a provider. Empty members count as absent. */
export interface ExternalProfile {
  /** The user's id at the provider. It is unique there, and never given to another user. */
  readonly subject: string
  /** Default: the issuer of the provider. */
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

/** Claims of an id_token whose signature, issuer, audience and times are valid. */
export type IdTokenClaims = Readonly<Record<string, unknown>>

/** The secret of a client that signs id_tokens by HS256, and the client, which must be their audience. */
export interface TokenSecret {
  readonly bytes: Uint8Array
  readonly clientId: string
}

/** How the id_tokens of a provider are verified. */
export interface IdTokenRules {
  /** The place of the keys of an issuer; undefined for an issuer that is not the provider's. */
  keysOf(issuer: string): KeySource | undefined
  /** A secret that may sign tokens in place of a key. Undefined where no such token counts. */
  readonly secret?: TokenSecret | undefined
  /** Whether the nonce is compared in the id_token grant. */
  readonly nonce: 'checked' | 'not-checked'
  /** The profile in a token. @throws Error when a claim has the wrong form */
  readProfile(claims: IdTokenClaims): ExternalProfile
}

/** The result of the exchange of a code. */
export interface Grant {
  readonly accessToken: string
  /** Undefined where the provider gave none. */
  readonly refreshToken: string | undefined
  readonly idToken: string | undefined
  /** The whole answer of the token endpoint. */
  readonly answer: Readonly<Record<string, unknown>>
  /** The form field `user` of Apple's callback: the user's name, in JSON. */
  readonly userField: string | undefined
}

/** How a provider file reads the profile behind a grant. */
export interface ProviderApi {
  /** Fetches JSON with the access token. @throws Error when the answer is not 2xx, or does not match the schema */
  get<Schema extends z.ZodType>(
    url: string,
    schema: Schema,
    headers?: Readonly<Record<string, string>>,
  ): Promise<z.output<Schema>>
  /**
   * Fetches the claims of a userinfo endpoint, which may be signed.
   * @throws Error when the answer is not 2xx, is no object, or is signed by somebody else or for somebody else
   */
  getClaims(url: string): Promise<IdTokenClaims>
  /** Verifies the id_token of the grant. @throws Error when there is none, or it is not valid */
  idTokenClaims(): Promise<IdTokenClaims>
}

interface CommonProvider {
  /** The `iss` of its identities. */
  readonly issuer: string
  readonly authorizeUrl: string
}

/** A provider that speaks OAuth 2.0, with or without OpenID Connect. */
export interface OAuth2Provider extends CommonProvider {
  readonly protocol: 'oauth2'
  readonly tokenUrl: string
  /** Scopes of every request. */
  readonly scopes: readonly string[]
  /** Whether a client may ask for further scopes. */
  readonly takesScopes: boolean
  readonly clientAuth: 'basic' | 'post' | 'basic-or-post'
  /** Whether the provider binds its code to our verifier (RFC 7636). */
  readonly usesPkce: boolean
  /** Parameters of the authorization request, unless the client gives other values. */
  readonly authorizeParams?: Readonly<Record<string, string>>
  /** Whether the metadata of the provider promise that each answer names its issuer (RFC 9207). */
  readonly promisesIss?: boolean
  /** Undefined for a provider without id_tokens. */
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

/** The export of a file of `providers/`: makes a provider from the client id and secret of the settings. */
export type DefineProvider<Kind = OAuth2Provider> = (account: ClientAccount) => Kind
