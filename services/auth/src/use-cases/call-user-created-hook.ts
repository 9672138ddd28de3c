import type { JobAttempt, Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Db } from '../database.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { type UserCreated, userCreatedTask } from '../hooks/user-created-job.ts'
import { findProfileById } from '../users/profile-repository.ts'
import { viewUser } from '../users/user-view.ts'

type CallHookDeps = { readonly db: Db; readonly hooks: Hooks; readonly now: () => Date }

/**
 * Calls the hook AFTER_USER_CREATED for a new user. A process may die after the call and before the queue records it. The next
 * attempt calls again, with the `uuid` of this job.
 */
async function callUserCreatedHook(
  { db, hooks, now }: CallHookDeps,
  { userId, ip }: UserCreated,
  { id: uuid }: Pick<JobAttempt, 'id'>,
): Promise<Outcome> {
  const profile = hooks.isOn('AFTER_USER_CREATED') ? await findProfileById(db, userId) : undefined
  if (!profile) return 'dropped'
  await hooks.call('AFTER_USER_CREATED', {
    metadata: { uuid, time: now().toISOString(), name: 'after-user-created', ip_address: ip },
    user: viewUser(profile),
  })
  return 'done'
}

/** Starts to call the hook for the users in the queue. */
export async function startUserCreatedHookCalls(deps: CallHookDeps & { readonly jobs: Jobs }): Promise<void> {
  await deps.jobs.work(userCreatedTask, (created, attempt) => callUserCreatedHook(deps, created, attempt))
}
