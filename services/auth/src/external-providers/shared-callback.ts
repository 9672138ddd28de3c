import type { AuthConfig } from '../config.ts'
import { builtInProviders } from './built-in-providers.ts'
import { hasOwnCallback, namesIssuer } from './callback-address.ts'
import { CUSTOM_PREFIX, type CustomProviderSettings } from './custom-provider.ts'
import { defineCustomProvider } from './define-custom-provider.ts'

interface Named {
  readonly identifier: string
  readonly settings: CustomProviderSettings
}

/**
 * Warns of custom providers at `/callback` beside a provider whose answers name no issuer (reference: Custom providers): who runs
 * one could use its flow for an answer of the other. Empty where nothing is shared.
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
