import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { issuerMetadataSchema } from './discovery.ts'

/** The attributes that a claim can be mapped to. */
const ATTRIBUTES = [
  ...['sub', 'email', 'email_verified', 'name', 'full_name', 'picture', 'avatar_url'],
  ...['user_name', 'preferred_username', 'nickname'],
] as const

const TEXT_LENGTH_MAX = 2_048
const ENTRIES_MAX = 100

const text = z.string().min(1).max(TEXT_LENGTH_MAX)
const address = z
  .url({ protocol: /^https$/, error: FIELD_TEXTS.notHttps })
  .max(TEXT_LENGTH_MAX)
  .refine((value) => !/[#@\\]/.test(value), { error: FIELD_TEXTS.urlParts })
const texts = z.array(text).max(ENTRIES_MAX)
const isSmall = (record: object): boolean => Object.keys(record).length <= ENTRIES_MAX

/** The members that a change may have (reference: Custom providers). */
export const customProviderChanges = z.object({
  name: text.max(120).optional(),
  client_id: text.optional(),
  client_secret: text.optional().meta({ description: 'never told again' }),
  acceptable_client_ids: texts.optional().meta({ description: 'further audiences of id_tokens' }),
  scopes: texts.optional(),
  custom_claims_allowlist: texts.optional().meta({ description: 'claims that identities keep as they come' }),
  pkce_enabled: z.boolean().optional(),
  enabled: z.boolean().optional(),
  email_optional: z.boolean().optional(),
  skip_nonce_check: z.boolean().optional(),
  issuer: address.optional().meta({ description: 'oidc' }),
  discovery_url: address.optional().meta({ description: 'oidc: where the metadata are, if not at the usual place' }),
  authorization_url: address.optional().meta({ description: 'oauth2, as the next two' }),
  token_url: address.optional(),
  userinfo_url: address.optional(),
  attribute_mapping: z
    .partialRecord(z.enum(ATTRIBUTES), text)
    .optional()
    .meta({ description: 'which claim tells what, by name or JSON pointer' }),
  authorization_params: z
    .record(text, z.string().max(TEXT_LENGTH_MAX))
    .refine(isSmall, { error: FIELD_TEXTS.tooManyEntries })
    .optional(),
})

/** The body of POST /admin/custom-providers. A change may not contain the type or the identifier. */
export const newCustomProvider = customProviderChanges.extend({
  provider_type: z.enum(['oauth2', 'oidc']),
  identifier: z.string().regex(/^custom:[a-z0-9][a-z0-9:._-]{0,62}$/, { error: FIELD_TEXTS.identifier }),
  name: text.max(120),
  client_id: text,
  client_secret: text,
})

const common = {
  name: text,
  client_id: text,
  acceptable_client_ids: texts.default([]),
  scopes: texts.default([]),
  custom_claims_allowlist: texts.default([]),
  pkce_enabled: z.boolean().default(true),
  enabled: z.boolean().default(true),
  email_optional: z.boolean().default(false),
  skip_nonce_check: z.boolean().default(false),
  attribute_mapping: z.partialRecord(z.enum(ATTRIBUTES), text).default({}),
  authorization_params: z.record(z.string(), z.string()).default({}),
}

/** The settings of a provider as stored: every member, and the metadata of an OpenID provider. */
export const customProviderSettings = z.discriminatedUnion('provider_type', [
  z.object({
    provider_type: z.literal('oauth2'),
    ...common,
    authorization_url: address,
    token_url: address,
    userinfo_url: address,
  }),
  z.object({
    provider_type: z.literal('oidc'),
    ...common,
    scopes: texts.default(['openid', 'email', 'profile']),
    issuer: address,
    discovery_url: address.optional(),
    discovery_document: issuerMetadataSchema,
  }),
])

/** What an admin has stored of a custom provider, except its identifier and its sealed secret. */
export type CustomProviderSettings = z.output<typeof customProviderSettings>

/** Which claim of a custom provider tells a member of the profile, by name or JSON pointer. */
export type AttributeMapping = CustomProviderSettings['attribute_mapping']

/** The prefix of every custom provider's identifier. No fixed provider has it. */
export const CUSTOM_PREFIX = 'custom:'
