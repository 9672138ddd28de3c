import type { Lanes } from '@trestle/database/lanes.ts'
import { hashToken, type Invitation } from '../members/invitation.ts'
import { callAcceptInvitation, findInvitation } from '../members/invitation-repository.ts'

/**
 * Makes the invited user a member, if the invitation is open (reference: Invitations).
 * @returns the invitation as it is afterwards; undefined when no link has the token
 */
export async function acceptInvitation(
  { lanes }: { readonly lanes: Lanes },
  token: string,
): Promise<Invitation | undefined> {
  const tokenHash = hashToken(token)
  await callAcceptInvitation(lanes, tokenHash)
  return findInvitation(lanes, tokenHash)
}
