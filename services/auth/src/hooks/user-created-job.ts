import { randomUUID } from 'node:crypto'
import type { Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { findOwner } from '../users/user-profile-repository.ts'
import { toUserView } from '../users/user-view.ts'

/** Somebody who has become a user. */
export interface UserCreated {
  readonly userId: string
  /** Address for the hook, empty where none is known. */
  readonly ip: string
}

/** The hook may be away for a day. */
export const userCreatedTask = defineTask<UserCreated>('user-created', {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 15,
  sealed: false,
})

/**
 * Longer than a signup may be on its way: 5 s until its batch goes, then 5 for a connection and 10 for the statement, both a
 * second time where it goes alone after that. By then the user is there, or never will be.
 */
const HELD_SECONDS = 40

/** Tells the hook AFTER_USER_CREATED, once the transaction that makes the user is committed. */
export async function queueUserCreated(
  trx: Kysely<AuthDatabase>,
  { hooks, jobs }: Pick<AuthDeps, 'hooks' | 'jobs'>,
  created: UserCreated,
): Promise<void> {
  if (hooks.isOn('AFTER_USER_CREATED')) await jobs.send(trx, userCreatedTask, created)
}

/**
 * The same before a function of the database is asked to make the user. It may find that somebody has the address: then
 * nobody has the id, and nothing is told. So a crash between the two loses nothing, and both ways take as long.
 */
export async function holdUserCreated(
  { db, hooks, jobs }: Pick<AuthDeps, 'db' | 'hooks' | 'jobs'>,
  created: UserCreated,
): Promise<void> {
  if (!hooks.isOn('AFTER_USER_CREATED')) return
  await jobs.send(db, userCreatedTask, created, { startAfterSeconds: HELD_SECONDS })
}

/** Takes such news from the queue. */
export async function workOnUsersCreated(deps: Pick<AuthDeps, 'db' | 'hooks' | 'jobs' | 'now'>): Promise<void> {
  await deps.jobs.work(userCreatedTask, (created) => tell(deps, created))
}

async function tell(
  { db, hooks, now }: Pick<AuthDeps, 'db' | 'hooks' | 'now'>,
  { userId, ip }: UserCreated,
): Promise<Outcome> {
  const profile = hooks.isOn('AFTER_USER_CREATED') ? await findOwner(db, userId) : undefined
  if (!profile) return 'dropped'
  await hooks.call('AFTER_USER_CREATED', {
    metadata: { uuid: randomUUID(), time: now().toISOString(), name: 'after-user-created', ip_address: ip },
    user: toUserView(profile.user, profile.identities, profile.factors),
  })
  return 'done'
}
