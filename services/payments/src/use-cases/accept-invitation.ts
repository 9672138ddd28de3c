import type { Pools } from '@trestle/database/pools.ts'
import { hashToken, type Invitation } from '../members/invitation.ts'
import { callAcceptInvitation, findInvitation } from '../members/invitation-repository.ts'

/** Makes the user a member if the invitation is open (reference: Invitations). `undefined` if the token is wrong. */
export async function acceptInvitation(
  { pools }: { readonly pools: Pools },
  token: string,
): Promise<Invitation | undefined> {
  const tokenHash = hashToken(token)
  await callAcceptInvitation(pools, tokenHash)
  return findInvitation(pools, tokenHash)
}
