import type { Behaviours } from '../config/behaviours.ts'
import type { Db, Trx } from '../database.ts'
import { signInTooOld } from '../errors.ts'
import { isStaged, requireNotBanned, type User } from '../users/user.ts'
import { findUserById, lockUserById } from '../users/user-repository.ts'
import { type Caller, callerAudience } from './caller.ts'
import { isByOldCredential, listProofs, type Proof } from './proof-repository.ts'
import { refuseMissingSession, refuseMissingUser, requireSession, requireTokenUser } from './session.ts'
import { findSession, type Session } from './session-repository.ts'

/** A user who may change something in their own name. */
export interface ActiveCaller {
  readonly user: User
  /** Undefined for a token without session: it counts as aal1, and as old. */
  readonly session: Session | undefined
}

/** What finding a caller works with: the default audience, and the clock by which bans end. */
export interface ActiveCallerDeps {
  readonly config: {
    readonly jwt: { readonly audience: string }
    readonly behaviours: Pick<
      Behaviours,
      'acceptTokenAudience' | 'reportDeletedUserAsMissing' | 'takeAssuranceLevelFrom'
    >
  }
  readonly now: () => Date
}

/**
 * Finds the user and the session of a caller. Every change needs a live session (reference: Live sessions).
 * @throws tokenUserNotFound, userBanned, sessionNotFound
 */
export function findCaller(deps: ActiveCallerDeps & { readonly db: Db }, caller: Caller): Promise<ActiveCaller> {
  return toActiveCaller(deps.db, deps, caller, findUserById(deps.db, caller.userId))
}

/**
 * Like `findCaller`, under the user's lock. Whatever ends a session waits for this lock.
 * @throws tokenUserNotFound, userBanned, sessionNotFound
 */
export function lockCaller(trx: Trx, deps: ActiveCallerDeps, caller: Caller): Promise<ActiveCaller> {
  return toActiveCaller(trx, deps, caller, lockUserById(trx, caller.userId))
}

/**
 * Locks the user for whom an identity is being linked, as the caller who began the linking. Their access token was checked at
 * that time, but the session must not have ended since.
 * @throws tokenUserNotFound, userBanned, sessionNotFound
 */
export function lockLinkingUser(
  trx: Trx,
  deps: ActiveCallerDeps,
  linking: Pick<Caller, 'userId' | 'sessionId' | 'aal'>,
): Promise<ActiveCaller> {
  return lockCaller(trx, deps, { ...linking, audiences: [], isAdmin: true })
}

async function toActiveCaller(
  db: Db,
  { now, config }: ActiveCallerDeps,
  caller: Caller,
  found: Promise<User | undefined>,
): Promise<ActiveCaller> {
  const { userId, sessionId } = caller
  const { acceptTokenAudience, reportDeletedUserAsMissing, takeAssuranceLevelFrom } = config.behaviours
  const named = await found
  // A token for another service that shares the secret speaks for none of our users.
  const isOurs =
    acceptTokenAudience === 'any' ||
    caller.isAdmin ||
    named?.audience === callerAudience(caller, undefined, config.jwt.audience)
  const exists = named && !isStaged(named) && named.deletedAt === null
  if (reportDeletedUserAsMissing === 'session' && named && named.deletedAt !== null && sessionId !== null)
    refuseMissingSession()
  const user = requireTokenUser(isOurs && exists ? named : undefined)
  requireNotBanned(user, now())
  if (sessionId === null) return { user, session: undefined }
  const session = requireSession(await findSession(db, userId, sessionId))
  // The session may have been raised after this token was made. A thief of the token has not shown the second factor.
  const countsAsSession = caller.aal === 'aal2' || takeAssuranceLevelFrom === 'session'
  return { user, session: countsAsSession ? session : { ...session, aal: 'aal1' } }
}

/**
 * Refuses a caller whose user does not exist any more, or is deleted.
 * @throws tokenUserNotFound, sessionNotFound
 */
export async function refuseLostUser(
  { db, config }: Pick<ActiveCallerDeps, 'config'> & { readonly db: Db },
  { userId, sessionId }: Pick<Caller, 'userId' | 'sessionId'>,
): Promise<never> {
  const asksForRow = config.behaviours.reportDeletedUserAsMissing === 'session' && sessionId !== null
  const user = asksForRow ? await findUserById(db, userId) : undefined
  return user?.deletedAt ? refuseMissingSession() : refuseMissingUser()
}

/** What the check of a fresh sign-in works with. Undefined `freshForMs`: no sign-in has to be fresh. */
export interface FreshSessionDeps {
  readonly config: { readonly sessions: { readonly freshForMs: number | undefined } }
  readonly now: () => Date
}

/**
 * Requires a sign-in or a second factor within SESSIONS_FRESH_FOR, before a change of anything that sign-ins rest on. A
 * credential that was just added proves nothing. Anonymous users are exempt, since they could not sign in again.
 * @throws signInTooOld
 */
export async function requireFreshSession(
  db: Db,
  { config, now }: FreshSessionDeps,
  { user, session }: { readonly user: Pick<User, 'isAnonymous'>; readonly session: Pick<Session, 'id'> | undefined },
): Promise<void> {
  const { freshForMs } = config.sessions
  if (freshForMs === undefined || user.isAnonymous) return
  const since = now().getTime() - freshForMs
  const proofs = session ? await listProofs(db, session.id) : []
  const isFresh = (proof: Proof) => Date.parse(proof.at) >= since && isByOldCredential(proof, freshForMs)
  if (!proofs.some(isFresh)) throw signInTooOld()
}
