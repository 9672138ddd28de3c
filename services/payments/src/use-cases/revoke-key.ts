import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { keyMacOf, nullIfRefused, type RequestInput, requireAccess } from '../access/require-access.ts'
import { callRevokeKey } from '../apps/app-key-repository.ts'
import { lastKey } from '../errors.ts'

/**
 * Revokes a key of the calling app, possibly the key of this request (reference: Keys of an app).
 * @throws lastKey if the app has no other valid key, because an app without keys could never call again
 */
export async function revokeKey(
  { pools }: { readonly pools: Pools },
  { caller, keyId, input }: { readonly caller: Caller; readonly keyId: string; readonly input: RequestInput<unknown> },
): Promise<void> {
  const key = { keyMac: keyMacOf(caller), keyId: nullIfRefused(input, keyId) }
  const { isLast } = requireAccess(caller, await callRevokeKey(pools, key), input)
  if (isLast) throw lastKey()
}
