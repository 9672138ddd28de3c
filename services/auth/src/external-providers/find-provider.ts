import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import type { ExternalConfig, ProviderConfig, ProviderName } from '../config/external.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import {
  customProviderAddressRefused,
  customProviderFieldForeign,
  customProviderIssuerMissing,
  discoveryFailed,
} from '../external-errors.ts'
import { toFieldError } from '../field-errors.ts'
import { decryptSecret, type EncryptionKeys } from '../secrets/encrypted-secret.ts'
import { hasOwnCallback, namesIssuer } from './begin-sign-in.ts'
import {
  type AnyConfiguredProvider,
  CUSTOM_PREFIX,
  type CustomProviderChanges,
  CustomProviderSettings,
  defineCustomProvider,
} from './custom-provider.ts'
import { findCustomProvider } from './custom-provider-repository.ts'
import { discoverMetadata } from './key-sets.ts'
import { type DefineProvider, describeFailure, type OAuth1Provider } from './provider.ts'
import { apple } from './providers/apple.ts'
import { azure } from './providers/azure.ts'
import { bitbucket } from './providers/bitbucket.ts'
import { discord } from './providers/discord.ts'
import { facebook } from './providers/facebook.ts'
import { figma } from './providers/figma.ts'
import { github } from './providers/github.ts'
import { gitlab } from './providers/gitlab.ts'
import { google } from './providers/google.ts'
import { keycloak } from './providers/keycloak.ts'
import { linkedin } from './providers/linkedin.ts'
import { notion } from './providers/notion.ts'
import { slack } from './providers/slack.ts'
import { snapchat } from './providers/snapchat.ts'
import { spotify } from './providers/spotify.ts'
import { twitch } from './providers/twitch.ts'
import { twitter } from './providers/twitter.ts'
import { workos } from './providers/workos.ts'

export interface FindProviderDeps {
  readonly config: Pick<AuthConfig, 'external' | 'server'>
  readonly db: Db
  readonly encryptionKeys: EncryptionKeys
}

/** Finds an enabled provider, fixed or custom, or `undefined`. @throws Error if its secret cannot be decrypted */
export async function findProvider(deps: FindProviderDeps, name: string): Promise<AnyConfiguredProvider | undefined> {
  const { external, server } = deps.config
  if (!name.startsWith(CUSTOM_PREFIX)) return builtInProviders(external).find((provider) => provider.name === name)
  const found = external.custom.enabled ? await findCustomProvider(deps.db, name) : undefined
  if (!found?.settings.enabled) return undefined
  const { id, identifier, settings } = found
  return defineCustomProvider({
    identifier,
    settings,
    secret: decryptSecret(deps.encryptionKeys, id, found.secret),
    externalUrl: server.externalUrl,
  })
}

const DEFINITIONS: Readonly<Record<ProviderName, DefineProvider | DefineProvider<OAuth1Provider>>> = {
  apple,
  azure,
  bitbucket,
  discord,
  facebook,
  figma,
  github,
  gitlab,
  google,
  keycloak,
  linkedin,
  notion,
  slack,
  snapchat,
  spotify,
  twitch,
  twitter,
  workos,
}

/** Returns the fixed providers that the settings enable. */
export function builtInProviders({ providers }: Pick<ExternalConfig, 'providers'>): readonly AnyConfiguredProvider[] {
  return [...providers].flatMap(([name, config]) => configure(name, config) ?? [])
}

/** Returns the issuer of a provider's id_tokens, whether the provider is enabled or not. */
export function issuerOf(name: ProviderName): string {
  return DEFINITIONS[name](NO_ACCOUNT).issuer
}

/** Whether users can sign in by id_tokens of a provider, if it is enabled. */
export function takesIdTokens(name: ProviderName): boolean {
  const provider = DEFINITIONS[name](NO_ACCOUNT)
  return provider.protocol === 'oauth2' && provider.idTokens !== undefined
}

const NO_ACCOUNT = { clientId: '', secret: '', redirectUri: '', baseUrl: '' }

function configure(name: ProviderName, config: ProviderConfig): AnyConfiguredProvider | undefined {
  const { enabled, clientIds, secret, redirectUri, url = '', emailOptional, checksNonce } = config
  const [clientId] = clientIds
  // The service does not start if an enabled provider lacks one of these.
  if (!enabled || clientId === undefined || secret === undefined || redirectUri === undefined) return undefined
  const account = {
    clientId,
    secret,
    redirectUri,
    baseUrl: url.replace(/\/$/, ''),
    trustedConnections: config.trustedConnections,
  }
  const accepted = [...clientIds, ...config.extraAudiences]
  const common = { name, account, clientIds: accepted, emailOptional, checksNonce, origin: 'operator' } as const
  const provider = DEFINITIONS[name](account)
  return provider.protocol === 'oauth1a' ? { ...common, provider } : { ...common, provider }
}

const ADDRESSES = ['issuer', 'discovery_url', 'authorization_url', 'token_url', 'userinfo_url'] as const
const FOR_OIDC = ['issuer', 'discovery_url', 'id_token_signed_response_alg'] as const
const FOR_OAUTH2 = ['authorization_url', 'token_url', 'userinfo_url'] as const

export interface CompleteSettingsDeps {
  readonly outbound: Outbound
}

type WantedSettings = CustomProviderChanges & Pick<CustomProviderSettings, 'provider_type'>

/**
 * Checks the members that a type of provider needs, and adds the defaults. Fetches the metadata of an OpenID provider, even if
 * `wanted` contains older metadata.
 */
export async function completeSettings(
  { outbound }: CompleteSettingsDeps,
  wanted: WantedSettings,
): Promise<CustomProviderSettings> {
  const { provider_type: type } = wanted
  const foreign = (type === 'oidc' ? FOR_OAUTH2 : FOR_OIDC).find((name) => wanted[name] !== undefined)
  if (foreign) throw customProviderFieldForeign({ field: foreign, type })
  for (const name of ADDRESSES) {
    const url = wanted[name]
    if (url === undefined || outbound.mayCall({ url, origin: 'data' })) continue
    throw customProviderAddressRefused({ field: name })
  }
  const parsed = CustomProviderSettings.safeParse(type === 'oidc' ? await addMetadata(outbound, wanted) : wanted)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw toFieldError(issue?.path.join('.') ?? '', issue)
}

async function addMetadata(outbound: Outbound, wanted: WantedSettings): Promise<object> {
  const { issuer, discovery_url: discoveryUrl } = wanted
  if (issuer === undefined) throw customProviderIssuerMissing()
  try {
    return { ...wanted, discovery_document: await discoverMetadata(outbound, { issuer, discoveryUrl }) }
  } catch (error) {
    throw discoveryFailed({ cause: describeFailure(error) })
  }
}

interface Named {
  readonly identifier: string
  readonly settings: CustomProviderSettings
}

/**
 * Warns about providers that share `/callback` if the answers of one contain no issuer (reference: Custom providers). The
 * operator of one provider could use its flow for an answer of the other. Empty if nothing is shared.
 */
export function warnOfSharedCallback(
  { external, server }: Pick<AuthConfig, 'external' | 'server'>,
  rows: readonly Named[],
): readonly string[] {
  const enabled = external.custom.enabled ? rows.filter(({ settings }) => settings.enabled) : []
  const custom = enabled.map((row) => defineCustomProvider({ ...row, secret: '', externalUrl: server.externalUrl }))
  const sharing = [...builtInProviders(external), ...custom].filter((provider) => !hasOwnCallback(provider))
  const anonymous = sharing.filter((provider) => !namesIssuer(provider))
  const warned = sharing.filter(
    ({ name }) => name.startsWith(CUSTOM_PREFIX) && anonymous.some((other) => other.name !== name),
  )
  if (warned.length === 0) return []
  const [names, others] = [warned, anonymous].map((providers) => providers.map(({ name }) => name).join(', '))
  return [
    `the custom providers ${names} share /callback, and answers of ${others} name no issuer: who runs one could sign in as users of another. Register /callback/<identifier> there, and set callback to own`,
  ]
}
