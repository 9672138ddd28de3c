import type { AuthDeps } from '../deps.ts'
import { customProviderChanged } from '../external-errors.ts'
import { completeSettings } from '../external-providers/complete-settings.ts'
import type { CustomProviderChanges } from '../external-providers/custom-provider.ts'
import {
  type CustomProvider,
  getCustomProvider,
  updateCustomProvider,
} from '../external-providers/custom-provider-repository.ts'
import { sealSecret } from '../secrets/sealed-secret.ts'

type ChangeCustomProviderDeps = Pick<AuthDeps, 'db' | 'now' | 'randomBytes' | 'encryptionKeys' | 'outbound'>

/** A provider, and its members that change. */
export interface ChangeCustomProviderInput {
  readonly identifier: string
  readonly changes: CustomProviderChanges
}

/**
 * Changes a provider. Members that are not given stay. The type and the identifier can never change: identities name the
 * identifier, and their ids belong to that type of provider.
 * @throws customProviderNotFound, customProviderChanged, and what `completeSettings` throws
 */
export async function changeCustomProvider(
  deps: ChangeCustomProviderDeps,
  { identifier, changes: { client_secret: secret, ...changes } }: ChangeCustomProviderInput,
): Promise<CustomProvider> {
  const provider = await getCustomProvider(deps.db, identifier)
  const settings = await completeSettings(deps, { ...provider.settings, ...changes })
  const sealed = secret === undefined ? provider.secret : sealSecret(deps, provider.id, secret)
  const changed = await updateCustomProvider(deps.db, provider, { secret: sealed, settings }, deps.now())
  if (!changed) throw customProviderChanged()
  return changed
}
