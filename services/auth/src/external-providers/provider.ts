import { ResponseBodyError } from 'oauth4webapi'
import { z } from 'zod'
import { exchangeFailed } from '../external-errors.ts'
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
  readonly issuer?: ClaimText
  readonly emails: readonly ListedEmail[]
  readonly name?: ClaimText
  /** Default: `name`. */
  readonly fullName?: ClaimText
  readonly picture?: ClaimText
  /** Default: `picture`. */
  readonly avatarUrl?: ClaimText
  readonly userName?: ClaimText
  readonly preferredUsername?: ClaimText
  readonly nickname?: ClaimText
  readonly customClaims?: Readonly<Record<string, unknown>>
}

type ClaimText = string | null | undefined

/** Claims of an id_token whose signature, issuer, audience and times are valid. */
export type IdTokenClaims = Readonly<Record<string, unknown>>

/** The secret of a client that signs id_tokens by HS256, and the client, which must be their audience. */
interface TokenSecret {
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
   * @throws Error when the answer is not 2xx, is no object, or is signed by another issuer or for another audience
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

/**
 * A number of a JSON text that JavaScript prints in other characters: it has lost digits, or has another form. Where no key is
 * read, it counts as the number that `JSON.parse` makes of it.
 */
export class InexactNumber {
  readonly value: number
  readonly literal: string

  constructor(value: number, literal: string) {
    this.value = value
    this.literal = literal
  }

  toString(): string {
    return String(this.value)
  }

  toJSON(): number {
    return this.value
  }
}

/**
 * Parses a JSON text of a provider. `JSON.parse` rounds numbers beyond 2^53, so two users with neighbouring ids would have one.
 * Such a number becomes an `InexactNumber`.
 * @throws SyntaxError
 */
export function parseForeignJson(text: string): unknown {
  return JSON.parse(text, (_name: string, value: unknown, ...[context]: readonly { readonly source?: string }[]) => {
    const literal = context?.source
    return typeof value === 'number' && literal !== undefined && literal !== String(value)
      ? new InexactNumber(value, literal)
      : value
  })
}

/** A whole number as its digits. `1.0` and `1e3` are refused: a provider that writes an id like that may have rounded it. */
const DIGITS = /^(?:0|-?[1-9]\d*)$/

/** The key of a person at a provider: a text, or the digits of a whole number. Undefined for anything else. */
export function toForeignKey(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  const literal = value instanceof InexactNumber ? value.literal : typeof value === 'number' ? String(value) : ''
  return DIGITS.test(literal) ? literal : undefined
}

/** The id of a user where the provider documents a number. */
export const NumericId = z
  .custom<number | InexactNumber>((value) => typeof value !== 'string' && toForeignKey(value) !== undefined)
  .transform((value) => toForeignKey(value) ?? '')

/**
 * Describes a failure of a provider for the log, without its answer. Libraries attach answers to their errors, and an answer may
 * hold tokens.
 */
export function describeFailure(error: unknown): Error {
  if (error instanceof ResponseBodyError) return new Error(`the provider answered ${error.status} ${error.error}`)
  if (error instanceof z.ZodError) {
    const places = error.issues.map(({ path, code }) => `${path.join('.')} (${code})`)
    return new Error(`the provider answered something else than expected: ${places.join(', ')}`)
  }
  // The message of a parser quotes its text. The message about an invalid header quotes the token in it.
  if (error instanceof SyntaxError) return new Error('the provider answered no JSON')
  if (error instanceof TypeError) return new Error('the provider answered what cannot be sent back to it')
  return new Error(error instanceof Error ? error.message : 'the provider failed')
}

/** Fails a sign-in whose provider gives no token. */
export function failExchange(error: unknown): never {
  throw exchangeFailed({ cause: describeFailure(error) })
}

/** All claims except the ones that the profile holds elsewhere. */
export function omitClaims(
  claims: Readonly<Record<string, unknown>>,
  omitted: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !omitted.includes(name)))
}

/** An address and the claim about it, a boolean or its text. Without a claim it counts as verified, by assumption. */
export function toListedEmail(email: ListedEmail['email'], verified: unknown): ListedEmail {
  const isAssumed = verified === undefined
  return { email, isVerified: isAssumed || String(verified) === 'true', isAssumed }
}

/** First and last name together; empty where neither is known. */
export function fullName(first: string | null | undefined, last: string | null | undefined): string {
  return [first, last].filter(Boolean).join(' ')
}

// The members of a profile beside the id. A member of another type than the provider documents counts as missing, so that a wrong
// name or picture does not keep a user out (reference: Answers of providers).

export const Text = z.string().nullish().catch(undefined)
/** True or false, or none. The text `true` is none. */
export const Flag = z.boolean().nullish().catch(undefined)
export const Count = z.number().nullish().catch(undefined)

/** A list without the entries of another form; empty where there is none. */
export function listOf<Schema extends z.ZodType>(entry: Schema): z.ZodType<z.output<Schema>[]> {
  const readEntry = (value: unknown) => {
    const { success, data } = entry.safeParse(value)
    return success ? [data] : []
  }
  return z
    .array(z.unknown())
    .catch([])
    .transform((values) => values.flatMap(readEntry))
}
