import { randomUUID } from 'node:crypto'
import type { AuthDeps } from '../deps.ts'
import { customProviderExists, tooManyCustomProviders } from '../external-errors.ts'
import { completeSettings } from '../external-providers/complete-settings.ts'
import type { NewCustomProvider } from '../external-providers/custom-provider.ts'
import {
  type CustomProvider,
  countLockedProviders,
  findCustomProvider,
  insertCustomProvider,
} from '../external-providers/custom-provider-repository.ts'
import { sealSecret } from '../secrets/sealed-secret.ts'

type CreateCustomProviderDeps = Pick<AuthDeps, 'config' | 'db' | 'now' | 'randomBytes' | 'encryptionKeys' | 'outbound'>

/**
 * Adds a provider (reference: Custom providers).
 * @throws customProviderExists, tooManyCustomProviders, and what `completeSettings` throws
 */
export async function createCustomProvider(
  deps: CreateCustomProviderDeps,
  { identifier, client_secret: secret, ...wanted }: NewCustomProvider,
): Promise<CustomProvider> {
  const { config, db } = deps
  // Ask the issuer first: its answer may take seconds, and the transaction below holds a lock.
  const settings = await completeSettings(deps, wanted)
  const id = randomUUID()
  const sealed = sealSecret(deps, id, secret)
  const { providersMax } = config.external.custom
  return db.transaction().execute(async (trx) => {
    const count = await countLockedProviders(trx)
    if (await findCustomProvider(trx, identifier)) throw customProviderExists()
    if (providersMax > 0 && count >= providersMax) throw tooManyCustomProviders()
    return insertCustomProvider(trx, { id, identifier, secret: sealed, settings }, deps.now())
  })
}
