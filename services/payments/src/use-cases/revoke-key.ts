import type { Lanes } from '@trestle/database/lanes.ts'
import type { Asked } from '../access/asked.ts'
import type { Caller } from '../access/caller.ts'
import { keyMacOf, requireAccess } from '../access/require-access.ts'
import { callRevokeKey } from '../apps/app-key-repository.ts'
import { lastKey } from '../errors.ts'

/**
 * Revokes a key of the calling app, which may be the key of this request (reference: Keys of an app).
 * @throws lastKey when no other key is good: an app without keys could never call again; and what `requireAccess` throws
 */
export async function revokeKey(
  { lanes }: { readonly lanes: Lanes },
  { caller, keyId, asked }: { readonly caller: Caller; readonly keyId: string; readonly asked: Asked<unknown> },
): Promise<void> {
  const input = { keyMac: keyMacOf(caller), keyId: asked.verdict === 'refused' ? null : keyId }
  const { isLast } = requireAccess(caller, await callRevokeKey(lanes, input), asked)
  if (isLast) throw lastKey()
}
