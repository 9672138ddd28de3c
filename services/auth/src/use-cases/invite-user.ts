import { adminTraits, type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { askBeforeOwnUser } from '../hooks/user-created-job.ts'
import { type HookedDeps, type Repeatable, runHooked } from '../messages/hooked-transaction.ts'
import type { RateLimits } from '../rate-limits/rate-limits.ts'
import { startInterval } from '../rate-limits/send-interval.ts'
import type { Admin } from '../sessions/admin.ts'
import { getOrCreateInvited, type InvitedUser, mailInvitation } from '../sign-ups/insert-own-user.ts'
import { getProfile, type Profile } from '../users/profile-repository.ts'

type InviteUserDeps = HookedDeps & { readonly config: AuthConfig; readonly rateLimits: RateLimits }

export interface InviteUserInput extends InvitedUser {
  readonly admin: Admin
}

/** Mails an invitation, even if sign-ups are disabled (reference: POST /invite). An unconfirmed user can be invited again. */
export async function inviteUser<Answer>(
  deps: InviteUserDeps,
  input: InviteUserInput,
  runWork: RunWork<Profile, Answer>,
): Promise<Answer> {
  await askBeforeOwnUser(deps, { ...input, identifier: { kind: 'email', value: input.email } })
  const allowance = await deps.rateLimits.email.take(input.admin.limitKey)
  const answer = await runHooked(deps, (trx, repeatable) =>
    runWork(trx, repeatable, () => storeInvitation(trx, repeatable, input)),
  ).catch(async (error: unknown) => {
    await allowance.giveBack()
    throw error
  })
  const { email, context } = input
  await startInterval(deps, { kind: 'invitation', userId: null, identifier: email, audience: context.audience })
  return answer
}

async function storeInvitation(trx: Trx, deps: Repeatable<InviteUserDeps>, input: InviteUserInput): Promise<Profile> {
  const { admin, email, context } = input
  const user = await getOrCreateInvited(trx, deps, input)
  admin.requireMayManage(user)
  await mailInvitation(trx, deps, { user, email, context })
  const traits = adminTraits(user)
  await recordAudit(trx, deps, { action: 'user_invited', actor: admin.actor, target: user, ip: context.ip, traits })
  return getProfile(trx, user.id)
}
