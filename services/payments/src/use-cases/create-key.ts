import { admit, type Flaw, keyMacOf } from '../access/admit.ts'
import type { Caller } from '../access/caller.ts'
import { keyHint, keyMac } from '../apps/app.ts'
import { callCreateKey } from '../apps/app-key-repository.ts'
import type { PaymentsDeps } from '../deps.ts'

/** Gives the calling app one more key, known to it alone from here on: only a digest is kept. */
export async function createKey(
  { lanes, pepper, createKey: draw }: Pick<PaymentsDeps, 'lanes' | 'pepper' | 'createKey'>,
  { caller, flaw }: { readonly caller: Caller; readonly flaw: Flaw | undefined },
): Promise<{ readonly id: string; readonly key: string; readonly created: Date }> {
  const key = draw()
  const values = flaw ? { newMac: null, hint: null } : { newMac: keyMac(pepper, key), hint: keyHint(key) }
  const { made } = admit(caller, await callCreateKey(lanes, { keyMac: keyMacOf(caller), ...values }), flaw)
  if (!made) throw new Error('create_key answered done without a key')
  return { ...made, key }
}
