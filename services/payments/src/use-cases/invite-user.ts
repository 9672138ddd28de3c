import type { Caller } from '../access/caller.ts'
import { type RequestInput, valuesOrNull } from '../access/request-input.ts'
import { requireAccess } from '../access/require-access.ts'
import type { PaymentsDeps } from '../deps.ts'
import { invitationMailTask } from '../mail/invitation-mail.ts'
import { generateToken, hashToken } from '../members/invitation.ts'
import { callInviteUser } from '../members/invitation-repository.ts'

/** An invitation. */
export interface InviteUserInput {
  readonly caller: Caller
  readonly merchantId: string
  readonly input: RequestInput<{ readonly email: string }>
}

type InviteDeps = Pick<PaymentsDeps, 'lanes' | 'randomBytes' | 'jobs' | 'outbox'>

/**
 * Invites a user by email address (reference: Users of a merchant). The job of the mail is written in the same database
 * transaction, and the answer does not wait for the mail.
 * @returns `isMember`: the user is a member already, and nothing was done; `replayed`: an earlier request
 * with the Idempotency-Key invited the user
 * @throws unauthorized, notFound, forbidden, idempotencyKeyUsed, conflict and the error of a refused request, as `requireAccess`
 * throws them
 */
export async function inviteUser(
  deps: InviteDeps,
  { caller, merchantId, input }: InviteUserInput,
): Promise<{ readonly isMember: boolean; readonly replayed: boolean }> {
  const token = generateToken(deps.randomBytes)
  const { task, data } = await deps.jobs.prepare(invitationMailTask, { token })
  const values = valuesOrNull(input)
  const invitation = values && { email: values.email, tokenHash: hashToken(token), task, data }
  const result = await callInviteUser(deps.lanes, { caller, merchantId, invitation })
  const { isMember, mailed, verdict } = requireAccess(caller, result, input)
  if (mailed) deps.outbox.wake()
  return { isMember, replayed: verdict === 'replayed' }
}
