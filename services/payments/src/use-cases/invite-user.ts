import type { Caller } from '../access/caller.ts'
import { type Problem, requireAccess } from '../access/require-access.ts'
import type { PaymentsDeps } from '../deps.ts'
import { invitationMailTask } from '../mail/invitation-mail.ts'
import { drawToken, hashToken } from '../members/invitation.ts'
import { callInviteUser } from '../members/invitation-repository.ts'

/** An invitation; `email` is null when the body was refused. */
export interface InviteUserRequest {
  readonly caller: Caller
  readonly problem: Problem | undefined
  readonly merchantId: string
  readonly email: string | null
}

type InviteDeps = Pick<PaymentsDeps, 'lanes' | 'randomBytes' | 'jobs' | 'outbox'>

/**
 * Invites a user by email address. `isMember`: they are a member already, and nothing was done. The job of the mail is
 * written in the same transaction, and the answer does not wait for the mail.
 * @throws unauthorized, notFound, forbidden, the error of `problem`, and idempotencyKeyUsed when the key was used with another body
 */
export async function inviteUser(
  deps: InviteDeps,
  { caller, problem, merchantId, email }: InviteUserRequest,
): Promise<{ readonly isMember: boolean; readonly replayed: boolean }> {
  const token = drawToken(deps.randomBytes)
  const { task, data } = await deps.jobs.prepare(invitationMailTask, { token })
  const invitation = email === null ? null : { email, tokenHash: hashToken(token), task, data }
  const result = await callInviteUser(deps.lanes, { caller, merchantId, invitation })
  const { isMember, mailed, verdict } = requireAccess(caller, result, problem)
  if (mailed) deps.outbox.wake()
  return { isMember, replayed: verdict === 'replayed' }
}
