import { randomUUID } from 'node:crypto'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { z } from 'zod'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { buildUnconfirmedUser, type UnconfirmedUser } from '../users/claim-identifier.ts'
import { findProfileById } from '../users/profile-repository.ts'
import { isPendingSignUp } from '../users/user.ts'
import { findIdentifierOwner } from '../users/user-repository.ts'
import { viewUser } from '../users/user-view.ts'
import type { Hooks } from './hooks.ts'

/** A person who has become a user. `ip` is the client's address for the hook, or empty if it is unknown. */
export const UserCreated = z.object({ userId: z.string(), ip: z.string() })

export type UserCreated = Readonly<z.output<typeof UserCreated>>

export interface UserCreatedDeps {
  readonly db: Db
  readonly hooks: Hooks
  readonly jobs: Jobs
  readonly now: () => Date
}

/** Tries for a day, so that an outage of the hook does not lose the call. */
export const userCreatedTask = defineTask<UserCreated>('user-created', {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 15,
})

/**
 * How long the job of a sign-up waits. It must exceed the time of a sign-up: 5 s until its batch starts, 5 s for a connection and
 * 10 s for the statement. If the sign-up runs alone after its batch, the last two count twice. After that, the user exists or
 * never will.
 */
const HELD_SECONDS = 40

/** Queues the call of the hook AFTER_USER_CREATED, in the transaction that creates the user. */
export async function queueUserCreated(
  trx: Db,
  { hooks, jobs }: { readonly hooks: Pick<Hooks, 'isOn'>; readonly jobs: Jobs },
  created: UserCreated,
): Promise<void> {
  if (hooks.isOn('AFTER_USER_CREATED')) await jobs.send(trx, userCreatedTask, created)
}

/**
 * Queues the call of the hook AFTER_USER_CREATED before an SQL function creates the user, so that a crash in between loses no
 * call. If the address is taken, no user gets the id, and the job calls nothing. Both cases take the same time.
 */
export async function holdUserCreated(
  { db, hooks, jobs }: Pick<UserCreatedDeps, 'db' | 'hooks' | 'jobs'>,
  created: UserCreated,
): Promise<void> {
  if (!hooks.isOn('AFTER_USER_CREATED') || hooks.isInRequest('AFTER_USER_CREATED')) return
  await jobs.send(db, userCreatedTask, created, { startAfterSeconds: HELD_SECONDS })
}

/** Calls the hook in the request that has created a user, after the commit. The user stays even if the hook refuses. */
export async function announceUser(
  { db, hooks }: Pick<UserCreatedDeps, 'db' | 'hooks'>,
  userId: string,
): Promise<void> {
  const profile = hooks.isInRequest('AFTER_USER_CREATED') ? await findProfileById(db, userId) : undefined
  if (profile) await hooks.call('AFTER_USER_CREATED', { user: viewUser(profile) })
}

interface AskDeps {
  readonly hooks: Hooks
  readonly now: () => Date
}

/**
 * Calls the hook BEFORE_USER_CREATED, which decides whether a person may become a user, before any write. Also calls it for taken
 * addresses, because the answer must not reveal that an account exists.
 * @param ip the client's address
 */
export async function askBeforeUserCreated(
  { hooks, now }: AskDeps,
  { user, identities }: UnconfirmedUser,
  ip: string,
): Promise<void> {
  if (!hooks.isOn('BEFORE_USER_CREATED')) return
  await hooks.call('BEFORE_USER_CREATED', {
    metadata: { uuid: randomUUID(), time: now().toISOString(), name: 'before-user-created', ip_address: ip },
    user: viewUser({ user, identities, factors: [] }),
  })
}

interface OwnUserCandidate {
  readonly identifier: UserIdentifier
  readonly data: Readonly<Record<string, unknown>>
  readonly context: Pick<RequestContext, 'audience' | 'ip'>
}

interface AskOwnDeps extends AskDeps {
  readonly config: Pick<AuthConfig, 'jwt'>
  readonly db: Db
}

/**
 * Calls the hook for the user of an invitation, of an admin's link, or of a code by SMS. Does not call it if the address has an
 * account. An admin may know this, and so may a client that requests a code by SMS, if that creates the user immediately.
 */
export async function askBeforeOwnUser(
  deps: AskOwnDeps,
  { identifier, data, context }: OwnUserCandidate,
): Promise<void> {
  if (!deps.hooks.isOn('BEFORE_USER_CREATED')) return
  const owner = await findIdentifierOwner(deps.db, identifier)
  if (owner && !isPendingSignUp(owner)) return
  const [userId, identityId] = [randomUUID(), randomUUID()]
  const fresh = {
    userId,
    identityId,
    audience: context.audience,
    role: deps.config.jwt.defaultRole,
    data,
    now: deps.now(),
  }
  await askBeforeUserCreated(deps, buildUnconfirmedUser({ ...fresh, identifier }), context.ip)
}
