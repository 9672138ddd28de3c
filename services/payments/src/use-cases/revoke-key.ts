import type { Lanes } from '@trestle/database/lanes.ts'
import type { Caller } from '../access/caller.ts'
import { keyMacOf, type Problem, requireAccess } from '../access/require-access.ts'
import { callRevokeKey } from '../apps/app-key-repository.ts'
import { lastKey } from '../errors.ts'

/**
 * Revokes a key of the calling app, also the key of this request.
 * @throws lastKey when no other key is good: an app without keys could never call again; and what `requireAccess` throws
 */
export async function revokeKey(
  { lanes }: { readonly lanes: Lanes },
  {
    caller,
    problem,
    keyId,
  }: { readonly caller: Caller; readonly problem: Problem | undefined; readonly keyId: string },
): Promise<void> {
  const { isLast } = requireAccess(
    caller,
    await callRevokeKey(lanes, { keyMac: keyMacOf(caller), keyId: problem ? null : keyId }),
    problem,
  )
  if (isLast) throw lastKey()
}
