import { ResponseBodyError } from 'oauth4webapi'
import { z } from 'zod'
import { exchangeFailed } from '../external-errors.ts'
import type { KeySource } from './key-sets.ts'

/** The service's account at a provider, from the settings or from the row of a custom provider. */
export interface ClientAccount {
  readonly clientId: string
  readonly secret: string
  readonly redirectUri: string
  /** The URL from the settings, without a trailing slash. Empty if the provider has its standard addresses. */
  readonly baseUrl: string
  /** WorkOS connections and organizations whose email addresses count as verified. */
  readonly trustedConnections?: readonly string[]
}

/** An email address as the provider returns it, not normalised. */
export interface ListedEmail {
  readonly email: string | null | undefined
  readonly isVerified: boolean
  /** Whether the provider can state that an address is verified, but has not. */
  readonly isAssumed?: boolean
  readonly isPrimary?: boolean
}

/** A user's profile at a provider. Empty members count as absent. */
export interface ExternalProfile {
  /** The user's id at the provider. It is unique there, and never reused for another user. */
  readonly subject: string
  /** The default is the issuer of the provider. */
  readonly issuer?: ClaimText
  readonly emails: readonly ListedEmail[]
  readonly name?: ClaimText
  /** The default is `name`. */
  readonly fullName?: ClaimText
  readonly picture?: ClaimText
  /** The default is `picture`. */
  readonly avatarUrl?: ClaimText
  readonly userName?: ClaimText
  readonly preferredUsername?: ClaimText
  readonly nickname?: ClaimText
  readonly customClaims?: Readonly<Record<string, unknown>>
}

type ClaimText = string | null | undefined

/** The claims of an id_token with a valid signature, issuer, audience and times. */
export type IdTokenClaims = Readonly<Record<string, unknown>>

/** The secret by which a client signs id_tokens (HS256), and the client, which must be their audience. */
interface TokenSecret {
  readonly bytes: Uint8Array
  readonly clientId: string
}

/** How the id_tokens of a provider are verified. */
export interface IdTokenRules {
  /** The source of an issuer's keys, or `undefined` if the issuer does not belong to the provider. */
  keysOf(issuer: string): KeySource | undefined
  /** A secret that may sign tokens instead of a key. `undefined` if such tokens are not accepted. */
  readonly secret?: TokenSecret | undefined
  /** Whether the id_token grant compares the nonce. */
  readonly nonce: 'checked' | 'not-checked'
  /** Reads the profile in a token. @throws Error if a claim has the wrong form */
  readProfile(claims: IdTokenClaims): ExternalProfile
}

/** The provider's answer to the exchange of a code. */
export interface Grant {
  readonly accessToken: string
  /** `undefined` if the provider returned none. */
  readonly refreshToken: string | undefined
  readonly idToken: string | undefined
  /** The complete answer of the token endpoint. */
  readonly answer: Readonly<Record<string, unknown>>
  /** The form field `user` of Apple's callback. It contains the user's name as JSON. */
  readonly userField: string | undefined
}

/** The functions by which a provider file reads the profile of a grant. */
export interface ProviderApi {
  /** Fetches JSON with the access token. @throws Error if the answer is not 2xx or does not match the schema */
  get<Schema extends z.ZodType>(
    url: string,
    schema: Schema,
    headers?: Readonly<Record<string, string>>,
  ): Promise<z.output<Schema>>
  /**
   * Fetches the claims of a userinfo endpoint, which may be signed.
   * @throws Error if the answer is not 2xx, is not an object, or is signed for another issuer or audience
   */
  getClaims(url: string): Promise<IdTokenClaims>
  /** Verifies the id_token of the grant. @throws Error if it is missing or not valid */
  idTokenClaims(): Promise<IdTokenClaims>
}

interface CommonProvider {
  /** The `iss` of the provider's identities. */
  readonly issuer: string
  readonly authorizeUrl: string
}

/** A provider that uses OAuth 2.0, with or without OpenID Connect. */
export interface OAuth2Provider extends CommonProvider {
  readonly protocol: 'oauth2'
  readonly tokenUrl: string
  /** The scopes of every request. */
  readonly scopes: readonly string[]
  /** Whether a client may request further scopes. */
  readonly takesScopes: boolean
  readonly clientAuth: 'basic' | 'post' | 'basic-or-post'
  /** Whether the provider binds its code to the service's verifier (RFC 7636). */
  readonly usesPkce: boolean
  /** Default parameters of the authorization request. The client may override them. */
  readonly authorizeParams?: Readonly<Record<string, string>>
  /** Whether the provider's metadata promise that each answer contains its issuer (RFC 9207). */
  readonly promisesIss?: boolean
  /** `undefined` for a provider without id_tokens. */
  readonly idTokens?: IdTokenRules
  identify(api: ProviderApi, grant: Grant): Promise<ExternalProfile>
}

/** A provider that uses OAuth 1.0a (RFC 5849). */
export interface OAuth1Provider extends CommonProvider {
  readonly protocol: 'oauth1a'
  readonly requestTokenUrl: string
  readonly accessTokenUrl: string
  identify(api: Pick<ProviderApi, 'get'>): Promise<ExternalProfile>
}

/** The export of a file in `providers/`. It creates a provider from the client id and secret of the settings. */
export type DefineProvider<Kind = OAuth2Provider> = (account: ClientAccount) => Kind

/**
 * A number that JavaScript would print differently than the JSON text, because it has lost digits or has another form. Outside of
 * keys, it counts as the number that `JSON.parse` returns.
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
 * Parses a JSON text of a provider. `JSON.parse` rounds numbers beyond 2^53, so two users with adjacent ids would get the same
 * id. Such a number becomes an `InexactNumber`.
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

/** The digits of a whole number. `1.0` and `1e3` are refused, because a provider may have rounded such an id. */
const DIGITS = /^(?:0|-?[1-9]\d*)$/

/** Returns a person's key at a provider: a text, or the digits of a whole number. Otherwise `undefined`. */
export function toForeignKey(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  const literal = value instanceof InexactNumber ? value.literal : typeof value === 'number' ? String(value) : ''
  return DIGITS.test(literal) ? literal : undefined
}

/** A user id that the provider documents as a number. */
export const NumericId = z
  .custom<number | InexactNumber>((value) => typeof value !== 'string' && toForeignKey(value) !== undefined)
  .transform((value) => toForeignKey(value) ?? '')

/**
 * Describes a provider's failure for the log, without its answer. Libraries attach answers to their errors, and an answer may
 * contain tokens.
 */
export function describeFailure(error: unknown): Error {
  if (error instanceof ResponseBodyError) return new Error(`the provider answered ${error.status} ${error.error}`)
  if (error instanceof z.ZodError) {
    const places = error.issues.map(({ path, code }) => `${path.join('.')} (${code})`)
    return new Error(`the provider answered something else than expected: ${places.join(', ')}`)
  }
  // Replace these messages. A parser's message quotes its text, and one about an invalid header quotes the token.
  if (error instanceof SyntaxError) return new Error('the provider answered no JSON')
  if (error instanceof TypeError) return new Error('the provider answered what cannot be sent back to it')
  return new Error(error instanceof Error ? error.message : 'the provider failed')
}

/** Fails a sign-in because the provider returned no token. */
export function failExchange(error: unknown): never {
  throw exchangeFailed({ cause: describeFailure(error) })
}

/** Returns all claims except those that the profile stores elsewhere. */
export function omitClaims(
  claims: Readonly<Record<string, unknown>>,
  omitted: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !omitted.includes(name)))
}

/** Returns an address and its claim, a boolean or its text. Without a claim, it is assumed to be verified. */
export function toListedEmail(email: ListedEmail['email'], verified: unknown): ListedEmail {
  const isAssumed = verified === undefined
  return { email, isVerified: isAssumed || String(verified) === 'true', isAssumed }
}

/** Joins first and last name. Empty if both are unknown. */
export function fullName(first: string | null | undefined, last: string | null | undefined): string {
  return [first, last].filter(Boolean).join(' ')
}

// Optional members of a profile. A member of an undocumented type counts as missing, so that a wrong name or picture does not
// block the sign-in (reference: Answers of providers).

export const Text = z.string().nullish().catch(undefined)
/** `true`, `false` or absent. The text `true` counts as absent. */
export const Flag = z.boolean().nullish().catch(undefined)
export const Count = z.number().nullish().catch(undefined)

/** A list without its malformed entries. It is empty if the list is missing. */
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
