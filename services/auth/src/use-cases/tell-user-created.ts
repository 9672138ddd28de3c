import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { AuthDeps } from '../deps.ts'
import { type UserCreated, userCreatedTask } from '../hooks/user-created-job.ts'
import { findProfileById } from '../users/profile-repository.ts'
import { viewUser } from '../users/user-view.ts'

type TellDeps = Pick<AuthDeps, 'db' | 'hooks' | 'now'>

/**
 * Tells the hook AFTER_USER_CREATED about a new user. A process may die after the call and before the queue hears of it. The next
 * attempt calls again, with the `uuid` of this job.
 * @throws what `Hooks.call` throws
 */
async function tellUserCreated(
  { db, hooks, now }: TellDeps,
  { userId, ip }: UserCreated,
  jobId: string,
): Promise<Outcome> {
  const profile = hooks.isOn('AFTER_USER_CREATED') ? await findProfileById(db, userId) : undefined
  if (!profile) return 'dropped'
  await hooks.call('AFTER_USER_CREATED', {
    metadata: { uuid: jobId, time: now().toISOString(), name: 'after-user-created', ip_address: ip },
    user: viewUser(profile),
  })
  return 'done'
}

/** Starts to tell the hook about the users in the queue. */
export async function startUserCreatedCalls(deps: TellDeps & Pick<AuthDeps, 'jobs'>): Promise<void> {
  await deps.jobs.work(userCreatedTask, (created, { id }) => tellUserCreated(deps, created, id))
}
