import type { Pools } from '@trestle/database/pools.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Outbox } from '@trestle/jobs/outbox.ts'
import type { Caller } from '../access/caller.ts'
import { type RequestInput, requireAccess } from '../access/require-access.ts'
import { invitationMailTask } from '../mail/mails.ts'
import { generateToken, hashToken } from '../members/invitation.ts'
import { callInviteUser } from '../members/invitation-repository.ts'

export interface InvitedUser {
  /** Whether the user is already a member. Nothing was done in this case. */
  readonly isMember: boolean
  readonly replayed: boolean
  /** Whether this request sends a mail. */
  readonly mailed: boolean
}

/**
 * Invites a user by email address (reference: Users of a merchant). The job of the mail is stored in the same database
 * transaction, and the answer does not wait for the mail.
 * @param countMail runs the function that it gets and counts the mail against limits. It is not called for an idempotent request or
 * for a request that is refused for its access or its values, because such requests must not use up a limit.
 */
export async function inviteUser(
  deps: {
    readonly pools: Pools
    readonly randomBytes: (size: number) => Buffer
    readonly jobs: Jobs
    readonly outbox: Outbox
  },
  {
    caller,
    merchantId,
    input,
  }: {
    readonly caller: Caller
    readonly merchantId: string
    readonly input: RequestInput<{ readonly email: string }>
  },
  countMail: (invite: () => Promise<InvitedUser>) => Promise<InvitedUser>,
): Promise<InvitedUser> {
  const judged = await callInviteUser(deps.pools, { caller, merchantId, invitation: null })
  const { values, verdict, isMember } = requireAccess(caller, judged, input)
  if (verdict === 'replayed') return { isMember, mailed: false, replayed: true }
  const { email } = values
  return countMail(async () => {
    const token = generateToken(deps.randomBytes)
    const { task, data } = await deps.jobs.prepare(invitationMailTask, { token })
    const invitation = { email, tokenHash: hashToken(token), task, data }
    // Check the access again. It may have ended since the first check.
    const result = await callInviteUser(deps.pools, { caller, merchantId, invitation })
    const invited = requireAccess(caller, result, input)
    if (invited.mailed) deps.outbox.wake()
    return { isMember: invited.isMember, mailed: invited.mailed, replayed: invited.verdict === 'replayed' }
  })
}
