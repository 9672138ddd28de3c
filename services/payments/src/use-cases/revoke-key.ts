import { admit, type Flaw, keyMacOf } from '../access/admit.ts'
import type { Caller } from '../access/caller.ts'
import { callRevokeKey } from '../apps/app-key-repository.ts'
import type { PaymentsDeps } from '../deps.ts'
import { lastKey } from '../errors.ts'

/**
 * Revokes a key of the calling app, also the one that it calls with.
 * @throws 400 when no other key of it is good: an app without keys could never be reached again
 */
export async function revokeKey(
  { lanes }: Pick<PaymentsDeps, 'lanes'>,
  { caller, flaw, keyId }: { readonly caller: Caller; readonly flaw: Flaw | undefined; readonly keyId: string },
): Promise<void> {
  const { isLast } = admit(
    caller,
    await callRevokeKey(lanes, { keyMac: keyMacOf(caller), keyId: flaw ? null : keyId }),
    flaw,
  )
  if (isLast) throw lastKey()
}
