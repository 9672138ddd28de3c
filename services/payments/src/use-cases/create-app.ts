import { keyHint, keyMac } from '../apps/app.ts'
import { callCreateApp } from '../apps/app-repository.ts'
import type { PaymentsDeps } from '../deps.ts'

export type CreateAppDeps = Pick<PaymentsDeps, 'lanes' | 'pepper' | 'createKey'>

/** An app as it is answered to whoever made it. */
export interface CreatedApp {
  readonly id: string
  readonly name: string | undefined
  readonly key: string
}

/** Makes an app. Its key is known to the caller alone from here on: only a digest is kept. */
export async function createApp(
  { lanes, pepper, createKey }: CreateAppDeps,
  { name }: { readonly name: string | undefined },
): Promise<CreatedApp> {
  const key = createKey()
  const id = await callCreateApp(lanes, { keyMac: keyMac(pepper, key), hint: keyHint(key), name })
  return { id, name, key }
}
