import { type Asked, valuesOrNull } from '../access/asked.ts'
import type { Caller } from '../access/caller.ts'
import { requireAccess } from '../access/require-access.ts'
import type { PaymentsDeps } from '../deps.ts'
import { invitationMailTask } from '../mail/invitation-mail.ts'
import { drawToken, hashToken } from '../members/invitation.ts'
import { callInviteUser } from '../members/invitation-repository.ts'

/** An invitation. */
export interface InviteUserRequest {
  readonly caller: Caller
  readonly merchantId: string
  readonly asked: Asked<{ readonly email: string }>
}

type InviteDeps = Pick<PaymentsDeps, 'lanes' | 'randomBytes' | 'jobs' | 'outbox'>

/**
 * Invites a user by email address. `isMember`: they are a member already, and nothing was done. The job of the mail is
 * written in the same transaction, and the answer does not wait for the mail.
 * @throws unauthorized, notFound, forbidden, the error of a refused request, and idempotencyKeyUsed when the key was used with another body
 */
export async function inviteUser(
  deps: InviteDeps,
  { caller, merchantId, asked }: InviteUserRequest,
): Promise<{ readonly isMember: boolean; readonly replayed: boolean }> {
  const token = drawToken(deps.randomBytes)
  const { task, data } = await deps.jobs.prepare(invitationMailTask, { token })
  const values = valuesOrNull(asked)
  const invitation = values && { email: values.email, tokenHash: hashToken(token), task, data }
  const result = await callInviteUser(deps.lanes, { caller, merchantId, invitation })
  const { isMember, mailed, verdict } = requireAccess(caller, result, asked)
  if (mailed) deps.outbox.wake()
  return { isMember, replayed: verdict === 'replayed' }
}
