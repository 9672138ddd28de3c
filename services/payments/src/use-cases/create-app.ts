import { toStoredKey } from '../apps/app.ts'
import { callCreateApp } from '../apps/app-repository.ts'
import type { CreatedApp } from '../apps/app-view.ts'
import type { PaymentsDeps } from '../deps.ts'

/** The dependencies of `createApp`. */
export type CreateAppDeps = Pick<PaymentsDeps, 'lanes' | 'pepper' | 'generateApiKey'>

/** The app that an operator makes. */
export interface CreateAppInput {
  readonly name: string | undefined
}

/**
 * Makes an app with its first key, for an operator's command (reference: Registration). Only the caller
 * learns the key: the service stores its MAC.
 */
export async function createApp(
  { lanes, pepper, generateApiKey }: CreateAppDeps,
  { name }: CreateAppInput,
): Promise<CreatedApp> {
  const key = generateApiKey()
  return { id: await callCreateApp(lanes, { ...toStoredKey(pepper, key), name }), name, key }
}
