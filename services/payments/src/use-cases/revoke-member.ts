import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { nullIfRefused, type RequestInput, requireAccess } from '../access/require-access.ts'
import { lastMember } from '../errors.ts'
import { callRevokeMember } from '../members/member-repository.ts'

/**
 * Ends the membership of an app or a user, or a pending invitation (reference: Members). The next request of the former member is
 * already refused.
 * @throws lastMember if the only member of a live merchant removes itself, because nobody could reach the merchant through the
 * API any more
 */
export async function revokeMember(
  { pools }: { readonly pools: Pools },
  {
    caller,
    merchantId,
    noun,
    memberId,
    input,
  }: {
    readonly caller: Caller
    readonly merchantId: string
    readonly noun: 'app' | 'user'
    readonly memberId: string
    readonly input: RequestInput<unknown>
  },
): Promise<void> {
  const member = { caller, merchantId, memberId: nullIfRefused(input, memberId) }
  const { isLast } = requireAccess(caller, await callRevokeMember(pools, noun, member), input)
  if (isLast) throw lastMember(noun)
}
