import { CUSTOM_PREFIX } from '../providers/custom-provider.ts'
import { findCustomProvider } from '../providers/custom-provider-repository.ts'
import { defineCustomProvider } from '../providers/define-custom-provider.ts'
import type { AuthDeps } from '../deps.ts'
import { builtInProviders } from '../providers/built-in-providers.ts'
import type { AnyConfiguredProvider } from '../providers/configured-provider.ts'
import { openSecret } from '../secrets/sealed-secret.ts'

type Deps = Pick<AuthDeps, 'config' | 'db' | 'encryptionKeys'>

/** Finds a provider that people may sign in by: a fixed one that the settings switch on, or one that an admin has added. */
export async function findProvider(deps: Deps, name: string): Promise<AnyConfiguredProvider | undefined> {
  const { external, server } = deps.config
  if (!name.startsWith(CUSTOM_PREFIX)) return builtInProviders(external).find((provider) => provider.name === name)
  const found = external.custom.enabled ? await findCustomProvider(deps.db, name) : undefined
  if (!found?.settings.enabled) return undefined
  const { id, identifier, settings } = found
  const redirectUri = `${server.externalUrl.replace(/\/$/, '')}/callback`
  return defineCustomProvider({
    identifier,
    settings,
    secret: openSecret(deps.encryptionKeys, id, found.secret),
    redirectUri,
  })
}
