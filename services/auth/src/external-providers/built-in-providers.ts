import type { ExternalConfig, ProviderConfig, ProviderName } from '../config/external.ts'
import type { AnyConfiguredProvider } from './configured-provider.ts'
import type { DefineProvider, OAuth1Provider } from './provider.ts'
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

/** The fixed providers that the settings switch on. */
export function builtInProviders({ providers }: Pick<ExternalConfig, 'providers'>): readonly AnyConfiguredProvider[] {
  return [...providers].flatMap(([name, config]) => configure(name, config) ?? [])
}

/** The issuer of a provider's id_tokens, whether the provider is switched on or not. */
export function issuerOf(name: ProviderName): string {
  return DEFINITIONS[name](NO_ACCOUNT).issuer
}

/** Whether users can sign in by id_tokens of a provider, where it is switched on. */
export function takesIdTokens(name: ProviderName): boolean {
  const provider = DEFINITIONS[name](NO_ACCOUNT)
  return provider.protocol === 'oauth2' && provider.idTokens !== undefined
}

const NO_ACCOUNT = { clientId: '', secret: '', redirectUri: '', baseUrl: '' }

function configure(name: ProviderName, config: ProviderConfig): AnyConfiguredProvider | undefined {
  const { enabled, clientIds, secret, redirectUri, url = '', emailOptional, checksNonce } = config
  const [clientId] = clientIds
  // The service does not start with an enabled provider that lacks one of these.
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
