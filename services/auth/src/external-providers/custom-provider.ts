import { lowerAToZ } from '@trestle/common/server/lower-a-to-z.ts'
import { z } from 'zod'
import { customProviderInUse } from '../external-errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { IssuerMetadata } from './key-sets.ts'
import {
  type ClientAccount,
  type ExternalProfile,
  type IdTokenClaims,
  type IdTokenRules,
  InexactNumber,
  type ListedEmail,
  type OAuth1Provider,
  type OAuth2Provider,
  type ProviderApi,
  toForeignKey,
} from './provider.ts'

/** The attributes to which claims can be mapped. */
const ATTRIBUTES = [
  ...['sub', 'email', 'email_verified', 'name', 'full_name', 'picture', 'avatar_url'],
  ...['user_name', 'preferred_username', 'nickname'],
] as const

const TEXT_LENGTH_MAX = 2_048
const ENTRIES_MAX = 100

const Text = z.string().min(1).max(TEXT_LENGTH_MAX)
const Address = z
  .url({ protocol: /^https$/, error: FIELD_TEXTS.notHttps })
  // A URI is ASCII (RFC 3986). Host names in other letters need their ASCII form.
  .refine((value) => /^[!-~]*$/.test(value), { error: FIELD_TEXTS.notHttps })
  .max(TEXT_LENGTH_MAX)
  .refine((value) => !/[#@\\]/.test(value), { error: FIELD_TEXTS.urlParts })
  .meta({ pattern: '^https://[!"$-?A-\\[\\]-~]+$' })
const Texts = z.array(Text).max(ENTRIES_MAX)
const isSmall = (record: object): boolean => Object.keys(record).length <= ENTRIES_MAX

/** The redirect URIs of a provider: its own URI, or the shared URI. */
const CALLBACKS = ['own', 'shared'] as const

const OAUTH2_URLS = ['authorization_url', 'token_url', 'userinfo_url']
const OIDC_MEMBERS = ['issuer', 'discovery_url', 'id_token_signed_response_alg']
const OAUTH2_ONLY = 'For a provider of the type oauth2'

/** HS256: the client secret may sign id_tokens. RS256: only the provider's keys may sign them. */
const TOKEN_ALGORITHMS = ['HS256', 'RS256'] as const

/** The allowed members of a change (reference: Custom providers). */
export const CustomProviderChanges = z.object({
  name: Text.max(120).optional(),
  client_id: Text.optional(),
  client_secret: Text.optional().meta({ description: 'The secret of the client at the provider. No answer shows it' }),
  acceptable_client_ids: Texts.optional().meta({
    description: 'Further audiences that an id_token may have, beside client_id',
  }),
  scopes: Texts.optional(),
  custom_claims_allowlist: Texts.optional().meta({
    description: 'Claims that identities keep as the provider sends them',
  }),
  pkce_enabled: z.boolean().optional(),
  enabled: z.boolean().optional(),
  email_optional: z.boolean().optional(),
  skip_nonce_check: z.boolean().optional(),
  callback: z
    .enum(CALLBACKS)
    .optional()
    .meta({ description: 'The redirect URI: `/callback/<identifier>`, or `/callback`, which providers share' }),
  issuer: Address.optional().meta({ description: 'For a provider of the type oidc' }),
  discovery_url: Address.optional().meta({
    description: 'For a provider of the type oidc: where its metadata are, if not at the usual place',
  }),
  id_token_signed_response_alg: z.enum(TOKEN_ALGORITHMS).optional().meta({
    description:
      'For a provider of the type oidc: the secret of the client signs its id_tokens (HS256), or its keys do (RS256)',
  }),
  authorization_url: Address.optional().meta({ description: OAUTH2_ONLY }),
  token_url: Address.optional().meta({ description: OAUTH2_ONLY }),
  userinfo_url: Address.optional().meta({ description: OAUTH2_ONLY }),
  attribute_mapping: z
    .partialRecord(z.enum(ATTRIBUTES), Text)
    .optional()
    .meta({ description: 'Which claim holds each attribute of a user, by name or JSON pointer' }),
  authorization_params: z
    .record(Text, z.string().max(TEXT_LENGTH_MAX))
    .refine(isSmall, { error: FIELD_TEXTS.tooManyEntries })
    .optional(),
})

export type CustomProviderChanges = z.output<typeof CustomProviderChanges>

/** The body of POST /admin/custom-providers. A change may not contain the type or the identifier. */
export const NewCustomProvider = CustomProviderChanges.extend({
  provider_type: z.enum(['oauth2', 'oidc']),
  identifier: z.string().regex(/^custom:[a-z0-9][a-z0-9:._-]{0,62}$/, { error: FIELD_TEXTS.identifier }),
  name: Text.max(120),
  client_id: Text,
  client_secret: Text,
}).meta({ oneOf: [ofType('oauth2', OAUTH2_URLS, OIDC_MEMBERS), ofType('oidc', ['issuer'], OAUTH2_URLS)] })

export type NewCustomProvider = z.output<typeof NewCustomProvider>

/** The members of a provider of one type, only for the OpenAPI document. */
function ofType(type: string, required: readonly string[], refused: readonly string[]) {
  const members = refused.map((name) => [name, { type: 'null' }])
  return {
    required: ['provider_type', ...required],
    properties: { provider_type: { const: type }, ...Object.fromEntries(members) },
  }
}

const common = {
  name: Text,
  client_id: Text,
  acceptable_client_ids: Texts.default([]),
  scopes: Texts.default([]),
  custom_claims_allowlist: Texts.default([]),
  pkce_enabled: z.boolean().default(true),
  enabled: z.boolean().default(true),
  email_optional: z.boolean().default(false),
  skip_nonce_check: z.boolean().default(false),
  // Rows without this member are from releases in which all providers shared one address.
  callback: z.enum(CALLBACKS).default('shared'),
  attribute_mapping: z.partialRecord(z.enum(ATTRIBUTES), Text).default({}),
  authorization_params: z.record(z.string(), z.string()).default({}),
}

/** The stored settings of a provider: every member, plus the metadata of an OpenID provider. */
export const CustomProviderSettings = z.discriminatedUnion('provider_type', [
  z.object({
    provider_type: z.literal('oauth2'),
    ...common,
    authorization_url: Address,
    token_url: Address,
    userinfo_url: Address,
  }),
  z.object({
    provider_type: z.literal('oidc'),
    ...common,
    scopes: Texts.default(['openid', 'email', 'profile']),
    issuer: Address,
    discovery_url: Address.optional(),
    id_token_signed_response_alg: z.enum(TOKEN_ALGORITHMS).optional(),
    discovery_document: IssuerMetadata,
  }),
])

export type CustomProviderSettings = z.output<typeof CustomProviderSettings>

/** The claim for each member of the profile at a custom provider, by name or JSON pointer. */
type AttributeMapping = CustomProviderSettings['attribute_mapping']

/** The prefix of custom providers' identifiers. No fixed provider has it. */
export const CUSTOM_PREFIX = 'custom:'

type Attribute = keyof AttributeMapping

/**
 * Returns the profile of a user at a custom provider, from the claims of one or several answers about this user. Later answers
 * fill members that earlier answers lack.
 */
export function toCustomProfile(
  settings: CustomProviderSettings,
  parts: readonly [IdTokenClaims, ...IdTokenClaims[]],
): ExternalProfile {
  const { attribute_mapping: mapping, custom_claims_allowlist: names } = settings
  const read = (name: Attribute) => findFirst(parts, (claims) => readAttribute(mapping, claims, name))
  const custom = names.flatMap((name): [string, unknown][] => {
    const value = findFirst(parts, (claims) => (Object.hasOwn(claims, name) ? claims[name] : undefined))
    return value === undefined ? [] : [[name, value]]
  })
  return {
    subject: findFirst(parts, (claims) => toForeignKey(findClaim(mapping, claims, 'sub')) || undefined) ?? '',
    emails: [toEmail(mapping, parts)],
    name: read('name'),
    fullName: read('full_name'),
    picture: read('picture'),
    avatarUrl: read('avatar_url'),
    userName: read('user_name'),
    preferredUsername: read('preferred_username'),
    nickname: read('nickname'),
    // Like supabase/auth, omit the member if a custom provider sends none of the allowed claims.
    ...(custom.length > 0 && { customClaims: Object.fromEntries(custom) }),
  }
}

/** Whether claims contain an address and state whether it is verified. */
function describesEmail({ attribute_mapping: mapping }: CustomProviderSettings, claims: IdTokenClaims): boolean {
  return readAttribute(mapping, claims, 'email') !== undefined && readVerified(mapping, claims) !== undefined
}

/**
 * Returns the address, and whether an answer verifies it. If the answer with the address does not state this, another answer may
 * do so, unless it contains a different address.
 */
function toEmail(mapping: AttributeMapping, parts: readonly IdTokenClaims[]): ListedEmail {
  const from = parts.findIndex((claims) => readAttribute(mapping, claims, 'email') !== undefined)
  const [carrier = {}, ...later] = parts.slice(from)
  const email = readAttribute(mapping, carrier, 'email')
  if (from === -1 || email === undefined) return { email: undefined, isVerified: false }
  const vouching = [carrier, ...later].filter((claims) => {
    const own = findClaim(mapping, claims, 'email') ?? ''
    // A value that is not text, such as a list, may contain another address.
    return own === '' || lowerAToZ(readAttribute(mapping, claims, 'email') ?? '') === lowerAToZ(email)
  })
  return { email, isVerified: findFirst(vouching, (claims) => readVerified(mapping, claims)) === true }
}

function findFirst<Part, Found>(parts: readonly Part[], find: (part: Part) => Found | undefined): Found | undefined {
  for (const part of parts) {
    const found = find(part)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns an attribute, number or boolean as text. `undefined` if it is missing or empty. */
function readAttribute(mapping: AttributeMapping, claims: IdTokenClaims, name: Attribute): string | undefined {
  const value = findClaim(mapping, claims, name)
  const isText = ['string', 'number', 'boolean'].includes(typeof value) || value instanceof InexactNumber
  return isText && value !== '' ? String(value) : undefined
}

/** Whether an answer states that its address is verified. `undefined` if it has no boolean. The text `true` does not count. */
function readVerified(mapping: AttributeMapping, claims: IdTokenClaims): boolean | undefined {
  const value = findClaim(mapping, claims, 'email_verified')
  return typeof value === 'boolean' ? value : undefined
}

function findClaim(mapping: AttributeMapping, claims: IdTokenClaims, name: Attribute): unknown {
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

/** The meaning of a provider's subjects: the issuer in which they are unique, and the claim that contains them. */
export interface Subjects {
  readonly issuer: string
  readonly claim: string
}

/** The issuer of a custom provider, or the origin of its userinfo endpoint. */
export function customIssuerOf(settings: CustomProviderSettings): string {
  return settings.provider_type === 'oidc' ? settings.discovery_document.issuer : new URL(settings.userinfo_url).origin
}

export function subjectsOf(settings: CustomProviderSettings): Subjects {
  return { issuer: customIssuerOf(settings), claim: settings.attribute_mapping.sub ?? 'sub' }
}

/** Whether the same subject is the same account at both providers (OpenID Connect Core, section 2). */
export function sharesSubjects(one: Subjects, other: Subjects): boolean {
  return one.issuer === other.issuer && one.claim === other.claim
}

/** Refuses settings by which the subjects of existing identities would belong to other people. */
export function refuseOtherSubjects(): never {
  throw customProviderInUse()
}

export interface ConfiguredProvider<Kind extends OAuth2Provider | OAuth1Provider> {
  readonly name: string
  readonly provider: Kind
  readonly account: ClientAccount
  /** The accepted audiences of id_tokens: the account's client id, and the client ids of other apps. */
  readonly clientIds: readonly string[]
  /** Whether a user may lack an email address. */
  readonly emailOptional: boolean
  readonly checksNonce: boolean
  /** The source of the provider's URLs: `operator` for settings and source code, `data` for the database. */
  readonly origin: 'operator' | 'data'
  /** The meaning of a custom provider's subjects, which an admin may change during a sign-in. */
  readonly subjects?: Subjects
}

/** A provider with the service's account at it. `protocol` distinguishes OAuth 2.0 from OAuth 1.0a. */
export type AnyConfiguredProvider = ConfiguredProvider<OAuth2Provider> | ConfiguredProvider<OAuth1Provider>

export function isOAuth1(configured: AnyConfiguredProvider): configured is ConfiguredProvider<OAuth1Provider> {
  return configured.provider.protocol === 'oauth1a'
}

type Oidc = Extract<CustomProviderSettings, { provider_type: 'oidc' }>
const Claims = z.record(z.string(), z.unknown())

/** The service's account at a custom provider, with its secret as clear text. */
interface CustomAccount {
  readonly identifier: string
  readonly settings: CustomProviderSettings
  readonly secret: string
  readonly externalUrl: string
}

/** Returns a custom provider in the form of a fixed one. Its URLs are data, so they must use https. */
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

/** Returns the redirect URI of a custom provider. Admins cannot choose it, so they cannot redirect codes. */
export function redirectUriOf({ identifier, settings, externalUrl }: Omit<CustomAccount, 'secret'>): string {
  const shared = `${externalUrl.replace(/\/$/, '')}/callback`
  return settings.callback === 'own' ? `${shared}/${identifier}` : shared
}

const sharedSettings = ({
  scopes,
  pkce_enabled: usesPkce,
  authorization_params: authorizeParams,
}: CustomProviderSettings) => ({ protocol: 'oauth2', scopes, takesScopes: true, usesPkce, authorizeParams }) as const

function defineOAuth2(settings: Exclude<CustomProviderSettings, Oidc>): OAuth2Provider {
  return {
    ...sharedSettings(settings),
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
    ...sharedSettings(settings),
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

/** Reads the profile from the id_token. Calls the provider only if the token does not state whether the email is verified. */
async function readProfile(settings: Oidc, { getClaims, idTokenClaims }: ProviderApi): Promise<ExternalProfile> {
  const claims = await idTokenClaims()
  const { userinfo_endpoint: userinfo } = settings.discovery_document
  if (userinfo === undefined || describesEmail(settings, claims)) return toCustomProfile(settings, [claims])
  const profile = await getClaims(userinfo)
  const [asked, described] = [claims, profile].map(({ sub }) => toForeignKey(sub))
  // The answer must not be about another user (OpenID Connect Core, section 5.3.2).
  if (asked === undefined || asked !== described) throw new Error('the profile is of another user than the id_token')
  return toCustomProfile(settings, [claims, profile])
}

/** The shortest secret that is long enough against guessing (RFC 7518, section 3.2). */
const HMAC_BYTES_MIN = 32

/**
 * Returns the secret that may sign id_tokens, if the metadata or the operator state that the provider uses it. The client must
 * have its own long secret, which no app has.
 */
function findTokenSecret(settings: Oidc, secret: string): IdTokenRules['secret'] {
  const { discovery_document: metadata, id_token_signed_response_alg: chosen, client_id: clientId } = settings
  const isListed = metadata.id_token_signing_alg_values_supported?.includes('HS256')
  const isUsed = chosen === undefined ? isListed : chosen === 'HS256'
  const isPublic = metadata.token_endpoint_auth_methods_supported?.every((method) => method === 'none')
  const bytes = new TextEncoder().encode(secret)
  return isUsed && !isPublic && bytes.length >= HMAC_BYTES_MIN ? { bytes, clientId } : undefined
}
