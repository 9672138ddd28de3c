import type { ExternalConfig, ProviderConfig, ProviderName } from '../config/external.ts'
import { apple } from './built-in/apple.ts'
import { azure } from './built-in/azure.ts'
import { bitbucket } from './built-in/bitbucket.ts'
import { discord } from './built-in/discord.ts'
import { facebook } from './built-in/facebook.ts'
import { figma } from './built-in/figma.ts'
import { github } from './built-in/github.ts'
import { gitlab } from './built-in/gitlab.ts'
import { google } from './built-in/google.ts'
import { keycloak } from './built-in/keycloak.ts'
import { linkedin } from './built-in/linkedin.ts'
import { notion } from './built-in/notion.ts'
import { slack } from './built-in/slack.ts'
import { snapchat } from './built-in/snapchat.ts'
import { spotify } from './built-in/spotify.ts'
import { twitch } from './built-in/twitch.ts'
import { twitter } from './built-in/twitter.ts'
import { workos } from './built-in/workos.ts'
import type { AnyConfiguredProvider } from './configured-provider.ts'
import type { DefineProvider, OAuth1Provider } from './provider.ts'

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
  return DEFINITIONS[name]({ clientId: '', secret: '', redirectUri: '', baseUrl: '' }).issuer
}

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
