import type { Kysely, Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { sessionNotFound, tokenUserNotFound, userBanned } from '../errors.ts'
import type { LinkingTarget } from '../flows/flow-repository.ts'
import { type Caller, callerAudience } from '../sessions/caller.ts'
import { findSession, type Session } from '../sessions/session-rows.ts'
import { isBanned, isStaged, type User } from '../users/user.ts'
import { findUserById, lockUserById } from '../users/user-repository.ts'

/** A user who may change something in their own name. */
export interface ActiveCaller {
  readonly user: User
  /** Undefined for a token without session: it counts as aal1, and as old. */
  readonly session: Session | undefined
}

/**
 * Finds who asks. Everything that changes state needs a live session (reference: Live sessions).
 * @throws tokenUserNotFound, userBanned, sessionNotFound
 */
export function findCaller(deps: Pick<AuthDeps, 'db' | 'now' | 'config'>, caller: Caller): Promise<ActiveCaller> {
  return admit(deps.db, deps, caller, findUserById(deps.db, caller.userId))
}

/** The same under the user's lock, which every end of a session waits for. */
export function lockCaller(
  trx: Transaction<AuthDatabase>,
  deps: Pick<AuthDeps, 'now' | 'config'>,
  caller: Caller,
): Promise<ActiveCaller> {
  return admit(trx, deps, caller, lockUserById(trx, caller.userId))
}

/**
 * Locks the user for whom an identity is being linked, as the caller who began that: their access token was judged then,
 * but the session must not have ended since.
 * @throws tokenUserNotFound, userBanned, sessionNotFound
 */
export function lockLinkingUser(
  trx: Transaction<AuthDatabase>,
  deps: Pick<AuthDeps, 'now' | 'config'>,
  target: LinkingTarget,
): Promise<ActiveCaller> {
  return lockCaller(trx, deps, { ...target, audiences: [], isAdmin: true })
}

async function admit(
  db: Kysely<AuthDatabase>,
  { now, config }: Pick<AuthDeps, 'now' | 'config'>,
  caller: Caller,
  found: Promise<User | undefined>,
): Promise<ActiveCaller> {
  const { userId, sessionId } = caller
  const user = await found
  if (!user || isStaged(user) || user.deletedAt !== null) throw tokenUserNotFound()
  // A token for another service that shares the secret speaks for none of our users.
  const audience = callerAudience(caller, undefined, config.jwt.audience)
  if (!caller.isAdmin && user.aud !== audience) throw tokenUserNotFound()
  if (isBanned(user, now())) throw userBanned()
  if (sessionId === null) return { user, session: undefined }
  const session = await findSession(db, userId, sessionId)
  if (!session) throw sessionNotFound()
  // The session may have been raised since this token was made: who has stolen it has not shown the second factor.
  return { user, session: caller.aal === 'aal2' ? session : { ...session, aal: 'aal1' } }
}
