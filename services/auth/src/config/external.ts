import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { commaList, duration, flag, integer, secret, text, url } from '@trestle/common/config/setting.ts'
import { family, group } from '@trestle/common/config/setting-description.ts'

/** The external providers, in the order of `GET /settings`. */
export const PROVIDERS = [
  'apple',
  'azure',
  'bitbucket',
  'discord',
  'facebook',
  'figma',
  'github',
  'gitlab',
  'google',
  'keycloak',
  'linkedin',
  'notion',
  'slack',
  'snapchat',
  'spotify',
  'twitch',
  'twitter',
  'workos',
] as const

/** The name of a fixed external provider. Names of custom providers begin with `custom:`. */
export type ProviderName = (typeof PROVIDERS)[number]

/** Providers whose address is fixed. */
const FIXED = ['apple', 'google'] as const satisfies readonly ProviderName[]

const flowSettings = {
  EXTERNAL_FLOW_STATE_EXPIRY_DURATION: duration()
    .prefault('300s')
    .describe('Longest time that a sign-in at a provider may take. Less than 300 s counts as 300 s.'),
  EXTERNAL_REDIRECT_URL: url()
    .optional()
    .meta({
      aliases: ['AUTH_EXTERNAL_REDIRECTURL'],
      description:
        'Where every sign-in at a provider ends. Default: where the caller wants, as far as `AUTH_URI_ALLOW_LIST` permits.',
    }),
  EXTERNAL_IOS_BUNDLE_ID: text()
    .optional()
    .describe("Bundle id of an app, beside Apple's client ids: an audience of its id_tokens."),
  EXTERNAL_WORKOS_TRUSTED_CONNECTIONS: commaList()
    .default([])
    .describe(
      'Ids of connections and organizations of WorkOS whose addresses count as verified. Name only those whose identity provider you trust. The addresses of others are verified by a mail.',
    ),
  EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS: commaList()
    .prefault('https://appleid.apple.com,https://account.apple.com,https://accounts.google.com')
    .describe('Issuers that a request for the id_token grant may name in place of their provider.'),
  CUSTOM_OAUTH_ENABLED: flag().prefault('false').describe('Let admins add providers by the API.'),
  CUSTOM_OAUTH_MAX_PROVIDERS: integer(0).prefault('0').describe('Most providers that admins may add. 0 is any number.'),
} as const

const providerSettings = {
  ...family(PROVIDERS.map(toUpperCase), {
    'EXTERNAL_<PROVIDER>_ENABLED': flag().prefault('false').describe('Let users sign in at this provider.'),
    'EXTERNAL_<PROVIDER>_CLIENT_ID': commaList()
      .optional()
      .describe('Client ids at the provider. The first is used, all are accepted. Required with the switch.'),
    'EXTERNAL_<PROVIDER>_SECRET': secret().optional().describe('Secret of the client. Required with the switch.'),
    'EXTERNAL_<PROVIDER>_REDIRECT_URI': url()
      .optional()
      .describe('Where the provider sends users back to. Required with the switch.'),
    'EXTERNAL_<PROVIDER>_EMAIL_OPTIONAL': flag()
      .prefault('false')
      .describe('Make accounts of users whose provider tells no email address.'),
    'EXTERNAL_<PROVIDER>_SKIP_NONCE_CHECK': flag().prefault('false').describe('Take id_tokens whatever their nonce.'),
  }),
  ...family(PROVIDERS.filter(hasUsualUrl).map(toUpperCase), {
    'EXTERNAL_<PROVIDER>_URL': url()
      .optional()
      .describe('Address in place of that of the provider, such as `https://github.example.com` of an own server.'),
  }),
  EXTERNAL_AZURE_URL: url()
    .optional()
    .describe(
      'Endpoints of one tenant, whose users alone may sign in: `https://login.microsoftonline.com/` and the id of the tenant. Default: any tenant, at `common`.',
    ),
  EXTERNAL_GITLAB_URL: url().prefault('https://gitlab.com').describe('Address of your own GitLab.'),
  EXTERNAL_KEYCLOAK_URL: url()
    .optional()
    .describe('The realm, such as `https://keycloak.example.com/realms/name`. Required with the switch of Keycloak.'),
} as const

const addressesWithoutEffect = group(
  'Without effect',
  family(FIXED.map(toUpperCase), {
    'EXTERNAL_<PROVIDER>_URL': url().optional().describe('Ignored: the provider has one address.'),
  }),
)

/** Settings of external providers (docs/settings/auth.md). A fixed address cannot be replaced. */
export const externalSettings = {
  ...group('External providers', { ...flowSettings, ...providerSettings }),
  ...addressesWithoutEffect,
}

type ExternalValues = SettingValues<typeof externalSettings>

/** The settings of a provider, enabled or not. */
export interface ProviderConfig {
  readonly enabled: boolean
  /** The first is the client id of authorization requests. All are accepted as audiences of id_tokens. */
  readonly clientIds: readonly string[]
  /** `undefined` if the setting is missing. An enabled provider has both settings. */
  readonly secret: string | undefined
  readonly redirectUri: string | undefined
  /** Replaces the provider's default base URL. */
  readonly url: string | undefined
  /** Further accepted audiences, for apps that sign in with an id_token. */
  readonly extraAudiences: readonly string[]
  /** WorkOS connections and organizations whose email addresses count as verified. */
  readonly trustedConnections: readonly string[]
  readonly emailOptional: boolean
  readonly checksNonce: boolean
}

const FLOW_STATE_LIFETIME_MS_MIN = 300_000

export interface ExternalConfig {
  readonly providers: ReadonlyMap<ProviderName, ProviderConfig>
  readonly flowStateLifetimeMs: number
  readonly idTokenIssuers: readonly string[]
  /** The URL at which every sign-in ends. `undefined` if the client may choose the address. */
  readonly redirectUrl: string | undefined
  readonly custom: {
    readonly enabled: boolean
    readonly providersMax: number
  }
}

/** Returns the settings of external providers. A flow lives at least 300 s, even with a lower setting. */
export function toExternalConfig(values: ExternalValues): ExternalConfig {
  return {
    providers: new Map<ProviderName, ProviderConfig>(PROVIDERS.map((name) => [name, toProviderConfig(values, name)])),
    flowStateLifetimeMs: Math.max(values.EXTERNAL_FLOW_STATE_EXPIRY_DURATION, FLOW_STATE_LIFETIME_MS_MIN),
    idTokenIssuers: values.EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS,
    redirectUrl: values.EXTERNAL_REDIRECT_URL,
    custom: { enabled: values.CUSTOM_OAUTH_ENABLED, providersMax: values.CUSTOM_OAUTH_MAX_PROVIDERS },
  }
}

function toProviderConfig(values: ExternalValues, provider: ProviderName): ProviderConfig {
  const name = toUpperCase(provider)
  return {
    enabled: values[`EXTERNAL_${name}_ENABLED`],
    clientIds: values[`EXTERNAL_${name}_CLIENT_ID`] ?? [],
    secret: values[`EXTERNAL_${name}_SECRET`],
    redirectUri: values[`EXTERNAL_${name}_REDIRECT_URI`],
    url: isFixed(provider) ? undefined : values[`EXTERNAL_${name}_URL`],
    extraAudiences: provider === 'apple' ? [values.EXTERNAL_IOS_BUNDLE_ID ?? []].flat() : [],
    trustedConnections: provider === 'workos' ? values.EXTERNAL_WORKOS_TRUSTED_CONNECTIONS : [],
    emailOptional: values[`EXTERNAL_${name}_EMAIL_OPTIONAL`],
    checksNonce: !values[`EXTERNAL_${name}_SKIP_NONCE_CHECK`],
  }
}

/** An enabled provider needs its credentials, and keycloak its URL too. */
export const externalRules: readonly Rule<ExternalValues>[] = PROVIDERS.flatMap((provider) => {
  const name = toUpperCase(provider)
  const credentials = (['CLIENT_ID', 'SECRET', 'REDIRECT_URI'] as const).map(
    (part) => `EXTERNAL_${name}_${part}` as const,
  )
  const needed = [...credentials, ...(provider === 'keycloak' ? (['EXTERNAL_KEYCLOAK_URL'] as const) : [])]
  return needed.map(
    (setting) => (values: ExternalValues) =>
      values[`EXTERNAL_${name}_ENABLED`] && !values[setting]?.length
        ? `AUTH_${setting} is required when AUTH_EXTERNAL_${name}_ENABLED is true`
        : undefined,
  )
})

const TENANT = /^https:\/\/login\.microsoftonline\.com\/([^/]+)\/?$/i
/** A tenant id, or one of Microsoft's names for groups of tenants. */
const TENANT_ID = /^[0-9a-f-]{36}$|^(?:common|organizations|consumers)$/i

/** Warns about URLs that have no effect or make sign-ins impossible (reference: Environment). */
export function externalWarnings(values: ExternalValues): string[] {
  const fixed = FIXED.filter((provider) => values[`EXTERNAL_${toUpperCase(provider)}_URL`] !== undefined)
  const [, tenant] = TENANT.exec(values.EXTERNAL_AZURE_URL ?? '') ?? []
  const isNamed = values.EXTERNAL_AZURE_ENABLED && tenant !== undefined && !TENANT_ID.test(tenant)
  return [
    ...fixed.map((provider) => `AUTH_EXTERNAL_${toUpperCase(provider)}_URL has no effect: ${provider} has one address`),
    ...(isNamed
      ? ['AUTH_EXTERNAL_AZURE_URL must name the tenant by its id, as its tokens do: nobody can sign in at azure']
      : []),
  ]
}

function isFixed(provider: ProviderName): provider is (typeof FIXED)[number] {
  return FIXED.some((name) => name === provider)
}

type WithDescription = 'azure' | 'gitlab' | 'keycloak'

/** Whether a setting may replace the default address of a provider. Most providers share its description. */
function hasUsualUrl(
  provider: ProviderName,
): provider is Exclude<ProviderName, (typeof FIXED)[number] | WithDescription> {
  return !isFixed(provider) && !['azure', 'gitlab', 'keycloak'].includes(provider)
}

/** Returns a name in upper case with its exact type, which TypeScript does not derive from `toUpperCase`. */
export function toUpperCase<Name extends string>(name: Name): Uppercase<Name> {
  return name.toUpperCase() as Uppercase<Name>
}
