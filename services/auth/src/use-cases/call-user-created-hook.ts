import type { JobAttempt, Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Db } from '../database.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { type UserCreated, userCreatedTask } from '../hooks/user-created-job.ts'
import { findProfileById } from '../users/profile-repository.ts'
import { viewUser } from '../users/user-view.ts'

type CallHookDeps = { readonly db: Db; readonly hooks: Hooks; readonly now: () => Date }

/**
 * Calls the hook AFTER_USER_CREATED for a new user. If the process dies before the queue records the call, the next attempt calls
 * again with the same `uuid`, that of this job.
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

/** Starts the worker that calls the hook for queued users. */
export async function startUserCreatedHookCalls(deps: CallHookDeps & { readonly jobs: Jobs }): Promise<void> {
  await deps.jobs.work(userCreatedTask, (created, attempt) => callUserCreatedHook(deps, created, attempt))
}
