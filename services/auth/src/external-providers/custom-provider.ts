import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { IssuerMetadata } from './discovery.ts'

/** The attributes that a claim can be mapped to. */
const ATTRIBUTES = [
  ...['sub', 'email', 'email_verified', 'name', 'full_name', 'picture', 'avatar_url'],
  ...['user_name', 'preferred_username', 'nickname'],
] as const

const TEXT_LENGTH_MAX = 2_048
const ENTRIES_MAX = 100

const Text = z.string().min(1).max(TEXT_LENGTH_MAX)
const Address = z
  .url({ protocol: /^https$/, error: FIELD_TEXTS.notHttps })
  // A URI is ASCII (RFC 3986): names of hosts in other letters have a form of their own.
  .refine((value) => /^[!-~]*$/.test(value), { error: FIELD_TEXTS.notHttps })
  .max(TEXT_LENGTH_MAX)
  .refine((value) => !/[#@\\]/.test(value), { error: FIELD_TEXTS.urlParts })
  .meta({ pattern: '^https://[!"$-?A-\\[\\]-~]+$' })
const Texts = z.array(Text).max(ENTRIES_MAX)
const isSmall = (record: object): boolean => Object.keys(record).length <= ENTRIES_MAX

/** The redirect URIs that a provider may have: its own one, or the one that providers share. */
const CALLBACKS = ['own', 'shared'] as const

const OAUTH2_URLS = ['authorization_url', 'token_url', 'userinfo_url']
const OIDC_MEMBERS = ['issuer', 'discovery_url', 'id_token_signed_response_alg']
const OAUTH2_ONLY = 'For a provider of the type oauth2'

/** HS256: the secret of the client may sign id_tokens. RS256: only the keys of the provider do. */
const TOKEN_ALGORITHMS = ['HS256', 'RS256'] as const

/** The members that a change may have (reference: Custom providers). */
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

/** The body of PUT /admin/custom-providers/:identifier. */
export type CustomProviderChanges = z.output<typeof CustomProviderChanges>

/** The body of POST /admin/custom-providers. A change may not contain the type or the identifier. */
export const NewCustomProvider = CustomProviderChanges.extend({
  provider_type: z.enum(['oauth2', 'oidc']),
  identifier: z.string().regex(/^custom:[a-z0-9][a-z0-9:._-]{0,62}$/, { error: FIELD_TEXTS.identifier }),
  name: Text.max(120),
  client_id: Text,
  client_secret: Text,
}).meta({ oneOf: [ofType('oauth2', OAUTH2_URLS, OIDC_MEMBERS), ofType('oidc', ['issuer'], OAUTH2_URLS)] })

/** The body of POST /admin/custom-providers. */
export type NewCustomProvider = z.output<typeof NewCustomProvider>

/** The members of a provider of one type, for the API document alone. */
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
  // Rows without it were written when all providers shared one address.
  callback: z.enum(CALLBACKS).default('shared'),
  attribute_mapping: z.partialRecord(z.enum(ATTRIBUTES), Text).default({}),
  authorization_params: z.record(z.string(), z.string()).default({}),
}

/** The settings of a provider as stored: every member, and the metadata of an OpenID provider. */
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

/** The settings of a custom provider that an admin has stored, except its identifier and its sealed secret. */
export type CustomProviderSettings = z.output<typeof CustomProviderSettings>

/** The claim of a custom provider for each member of the profile, by name or JSON pointer. */
export type AttributeMapping = CustomProviderSettings['attribute_mapping']

/** The prefix of every custom provider's identifier. No fixed provider has it. */
export const CUSTOM_PREFIX = 'custom:'
