import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { type EncryptionKeys, openSecret } from '../secrets/sealed-secret.ts'
import { builtInProviders } from './built-in-providers.ts'
import type { AnyConfiguredProvider } from './configured-provider.ts'
import { CUSTOM_PREFIX } from './custom-provider.ts'
import { findCustomProvider } from './custom-provider-repository.ts'
import { defineCustomProvider } from './define-custom-provider.ts'

export interface FindProviderDeps {
  readonly config: Pick<AuthConfig, 'external' | 'server'>
  readonly db: Db
  readonly encryptionKeys: EncryptionKeys
}

/**
 * Finds an enabled provider, fixed or custom, by name; undefined for an unknown name, and for a provider that is off.
 * @throws Error when no key of ours sealed its secret, when it was changed, or when it is another row's
 */
export async function findProvider(deps: FindProviderDeps, name: string): Promise<AnyConfiguredProvider | undefined> {
  const { external, server } = deps.config
  if (!name.startsWith(CUSTOM_PREFIX)) return builtInProviders(external).find((provider) => provider.name === name)
  const found = external.custom.enabled ? await findCustomProvider(deps.db, name) : undefined
  if (!found?.settings.enabled) return undefined
  const { id, identifier, settings } = found
  return defineCustomProvider({
    identifier,
    settings,
    secret: openSecret(deps.encryptionKeys, id, found.secret),
    externalUrl: server.externalUrl,
  })
}
