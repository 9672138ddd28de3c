import type { AuthDeps } from '../deps.ts'
import { builtInProviders } from '../oauth/built-in-providers.ts'
import type { AnyConfiguredProvider } from '../oauth/configured-provider.ts'

/** Finds a provider that people may sign in by: one of the fixed ones that the settings switch on. */
export async function findProvider(
  { config }: Pick<AuthDeps, 'config'>,
  name: string,
): Promise<AnyConfiguredProvider | undefined> {
  return builtInProviders(config.external).find((provider) => provider.name === name)
}
