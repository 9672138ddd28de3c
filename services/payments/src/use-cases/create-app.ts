import { keyHint, keyMac } from '../apps/app.ts'
import { callCreateApp } from '../apps/app-repository.ts'
import type { PaymentsDeps } from '../deps.ts'

/** Makes an app. Its key is known to the caller alone from here on: only a digest is kept. */
export async function createApp(
  { lanes, pepper, createKey }: Pick<PaymentsDeps, 'lanes' | 'pepper' | 'createKey'>,
  { name }: { readonly name: string | undefined },
): Promise<{ readonly id: string; readonly name: string | undefined; readonly key: string }> {
  const key = createKey()
  const id = await callCreateApp(lanes, { keyMac: keyMac(pepper, key), hint: keyHint(key), name })
  return { id, name, key }
}
