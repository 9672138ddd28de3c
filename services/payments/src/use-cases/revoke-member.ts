import type { Lanes } from '@trestle/database/lanes.ts'
import type { Asked } from '../access/asked.ts'
import type { Caller } from '../access/caller.ts'
import { requireAccess } from '../access/require-access.ts'
import { lastApp } from '../errors.ts'
import { callRevokeMember } from '../members/member-repository.ts'

/** Which app or user of which merchant. */
export interface RevokeMemberRequest {
  readonly caller: Caller
  readonly merchantId: string
  readonly noun: 'app' | 'user'
  readonly memberId: string
  readonly asked: Asked<unknown>
}

/**
 * Ends the membership of an app or a user, or a pending invitation, from the next request on (reference: Members).
 * @throws lastApp when the calling app is the only app of the merchant and would remove itself: nobody could reach the merchant
 * through the API any more; and what `requireAccess` throws
 */
export async function revokeMember(
  { lanes }: { readonly lanes: Lanes },
  { caller, merchantId, noun, memberId, asked }: RevokeMemberRequest,
): Promise<void> {
  const input = { caller, merchantId, memberId: asked.verdict === 'refused' ? null : memberId }
  const { isLast } = requireAccess(caller, await callRevokeMember(lanes, noun, input), asked)
  if (isLast) throw lastApp()
}
