import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { commaList, duration, flag, integer, secret, text, url } from '@trestle/common/config/setting.ts'
import { sameSetting } from './rules.ts'

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

export type ProviderName = (typeof PROVIDERS)[number]

const NAMES = PROVIDERS.map(upper)

/** Contract 1.5. */
export const externalSettings = {
  ...sameSetting(
    NAMES.map((name) => `EXTERNAL_${name}_ENABLED` as const),
    flag().default(false),
  ),
  ...sameSetting(
    NAMES.map((name) => `EXTERNAL_${name}_CLIENT_ID` as const),
    commaList().optional(),
  ),
  ...sameSetting(
    NAMES.map((name) => `EXTERNAL_${name}_SECRET` as const),
    secret().optional(),
  ),
  ...sameSetting(
    NAMES.map((name) => `EXTERNAL_${name}_REDIRECT_URI` as const),
    url().optional(),
  ),
  ...sameSetting(
    NAMES.map((name) => `EXTERNAL_${name}_URL` as const),
    url().optional(),
  ),
  ...sameSetting(
    NAMES.map((name) => `EXTERNAL_${name}_EMAIL_OPTIONAL` as const),
    flag().default(false),
  ),
  ...sameSetting(
    NAMES.map((name) => `EXTERNAL_${name}_SKIP_NONCE_CHECK` as const),
    flag().default(false),
  ),
  EXTERNAL_IOS_BUNDLE_ID: text().optional(),
  EXTERNAL_WORKOS_TRUSTED_CONNECTIONS: commaList().default([]),
  EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS: commaList().default([
    'https://appleid.apple.com',
    'https://account.apple.com',
    'https://accounts.google.com',
  ]),
  EXTERNAL_REDIRECT_URL: url().optional(),
  EXTERNAL_FLOW_STATE_EXPIRY_DURATION: duration().default(300_000),
  CUSTOM_OAUTH_ENABLED: flag().default(false),
  CUSTOM_OAUTH_MAX_PROVIDERS: integer(0).default(0),
}

type Values = SettingValues<typeof externalSettings>

/** How one provider is reached. */
export interface ProviderConfig {
  readonly enabled: boolean
  /** The first is used to authorise, all are accepted as audience. */
  readonly clientIds: readonly string[]
  readonly secret: string | undefined
  readonly redirectUri: string | undefined
  /** Own base address; gitlab and keycloak only. */
  readonly url: string | undefined
  /** Audiences beside the client ids: apps that sign in with an id_token. */
  readonly extraAudiences: readonly string[]
  /** Connections and organisations of workos whose word for an address counts. */
  readonly trustedConnections: readonly string[]
  readonly emailOptional: boolean
  readonly checksNonce: boolean
}

const FLOW_STATE_LIFETIME_MIN_MS = 300_000
const GITLAB_URL = 'https://gitlab.com'

export type ExternalConfig = ReturnType<typeof toExternalConfig>

export function toExternalConfig(values: Values) {
  return {
    providers: new Map<ProviderName, ProviderConfig>(PROVIDERS.map((name) => [name, toProviderConfig(values, name)])),
    flowStateLifetimeMs: Math.max(values.EXTERNAL_FLOW_STATE_EXPIRY_DURATION, FLOW_STATE_LIFETIME_MIN_MS),
    /** Issuers that the id_token grant may be asked for by. */
    idTokenIssuers: values.EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS,
    /** Where every sign-in ends; undefined: where its caller wants. */
    redirectUrl: values.EXTERNAL_REDIRECT_URL,
    custom: { enabled: values.CUSTOM_OAUTH_ENABLED, providersMax: values.CUSTOM_OAUTH_MAX_PROVIDERS },
  }
}

function toProviderConfig(values: Values, provider: ProviderName): ProviderConfig {
  const name = upper(provider)
  const ownUrl = hasOwnUrl(provider) ? values[`EXTERNAL_${name}_URL`] : undefined
  return {
    enabled: values[`EXTERNAL_${name}_ENABLED`],
    clientIds: values[`EXTERNAL_${name}_CLIENT_ID`] ?? [],
    secret: values[`EXTERNAL_${name}_SECRET`],
    redirectUri: values[`EXTERNAL_${name}_REDIRECT_URI`],
    url: ownUrl ?? (provider === 'gitlab' ? GITLAB_URL : undefined),
    extraAudiences: provider === 'apple' ? [values.EXTERNAL_IOS_BUNDLE_ID ?? []].flat() : [],
    trustedConnections: provider === 'workos' ? values.EXTERNAL_WORKOS_TRUSTED_CONNECTIONS : [],
    emailOptional: values[`EXTERNAL_${name}_EMAIL_OPTIONAL`],
    checksNonce: !values[`EXTERNAL_${name}_SKIP_NONCE_CHECK`],
  }
}

/** An enabled provider needs its credentials; keycloak needs its address too. */
export const externalRules: readonly Rule<Values>[] = PROVIDERS.flatMap((provider) => {
  const name = upper(provider)
  const credentials = (['CLIENT_ID', 'SECRET', 'REDIRECT_URI'] as const).map(
    (part) => `EXTERNAL_${name}_${part}` as const,
  )
  const needed = [...credentials, ...(provider === 'keycloak' ? (['EXTERNAL_KEYCLOAK_URL'] as const) : [])]
  return needed.map(
    (setting) => (values: Values) =>
      values[`EXTERNAL_${name}_ENABLED`] && !values[setting]?.length
        ? `AUTH_${setting} is required when AUTH_EXTERNAL_${name}_ENABLED is true`
        : undefined,
  )
})

/** Ruling R16. */
export function externalWarnings(values: Values): string[] {
  return PROVIDERS.filter(
    (provider) => !hasOwnUrl(provider) && values[`EXTERNAL_${upper(provider)}_URL`] !== undefined,
  ).map(
    (provider) => `AUTH_EXTERNAL_${upper(provider)}_URL has no effect: only gitlab and keycloak have an own address`,
  )
}

function hasOwnUrl(provider: ProviderName): boolean {
  return provider === 'gitlab' || provider === 'keycloak'
}

function upper<P extends ProviderName>(provider: P): Uppercase<P> {
  // The type is what toUpperCase does.
  return provider.toUpperCase() as Uppercase<P>
}
