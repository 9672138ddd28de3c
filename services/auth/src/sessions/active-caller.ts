import type { Behaviours } from '../config/behaviours.ts'
import type { Db, Trx } from '../database.ts'
import { signInTooOld } from '../errors.ts'
import { isStaged, requireNotBanned, type User } from '../users/user.ts'
import { findUserById, lockUserById } from '../users/user-repository.ts'
import { isByOldCredential, listProofs, type Proof } from './proof-repository.ts'
import { refuseMissingSession, refuseMissingUser, requireSession } from './session.ts'
import { findSession, type Session } from './session-repository.ts'
import { callerAudience, type TokenUser } from './token-user.ts'

/** A user who may change something in their own name. */
export interface ActiveCaller {
  readonly user: User
  /** Undefined for a token without session: it counts as aal1, and as old. */
  readonly session: Session | undefined
}

/** The dependencies of a search for a caller: the default audience, and the clock by which bans end. */
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
export async function findCaller(
  deps: ActiveCallerDeps & { readonly db: Db },
  caller: TokenUser,
): Promise<ActiveCaller> {
  const user = await findUserById(deps.db, caller.userId)
  return requireActive(deps.db, deps, caller, isOurs(deps, caller, user) ? user : undefined)
}

/**
 * Locks the user of a caller, and finds their session. Every change needs a live session (reference: Live
 * sessions). Whatever ends a session waits for the user's lock.
 * @throws tokenUserNotFound, userBanned, sessionNotFound
 */
export async function lockCaller(trx: Trx, deps: ActiveCallerDeps, caller: TokenUser): Promise<ActiveCaller> {
  const user = await lockUserById(trx, caller.userId)
  return requireActive(trx, deps, caller, isOurs(deps, caller, user) ? user : undefined)
}

/**
 * Locks the user for whom an identity is being linked, as the caller who began the linking. The audience of
 * their access token was checked at that time, but the session must not have ended since.
 * @throws tokenUserNotFound, userBanned, sessionNotFound
 */
export async function lockLinkingUser(trx: Trx, deps: ActiveCallerDeps, linking: TokenSession): Promise<ActiveCaller> {
  return requireActive(trx, deps, linking, await lockUserById(trx, linking.userId))
}

/** Whether a token is meant for this service. A token for another service that shares the secret speaks for none of our users. */
function isOurs({ config }: Pick<ActiveCallerDeps, 'config'>, caller: TokenUser, user: User | undefined): boolean {
  if (config.behaviours.acceptTokenAudience === 'any' || caller.isAdmin) return true
  return user?.audience === callerAudience(caller, undefined, config.jwt.audience)
}

/** The user whom a token names, and how far its session had signed in when the token was made. */
type TokenSession = Pick<TokenUser, 'userId' | 'sessionId' | 'aal'>

/**
 * Requires a user who exists and is not banned, and a session that is alive.
 * @param user the user of the token, as a lookup has found them
 * @throws tokenUserNotFound, userBanned, sessionNotFound
 */
async function requireActive(
  db: Db,
  { now, config }: ActiveCallerDeps,
  { userId, sessionId, aal }: TokenSession,
  user: User | undefined,
): Promise<ActiveCaller> {
  if (!user || isStaged(user) || user.deletedAt !== null) return refuseUser(config, sessionId, user)
  requireNotBanned(user, now())
  if (sessionId === null) return { user, session: undefined }
  const session = requireSession(await findSession(db, userId, sessionId))
  // The session may have been raised after this token was made. A thief of the token has not shown the second factor.
  const countsAsSession = aal === 'aal2' || config.behaviours.takeAssuranceLevelFrom === 'session'
  return { user, session: countsAsSession ? session : { ...session, aal: 'aal1' } }
}

/**
 * Refuses a caller whose user does not exist any more, or is deleted.
 * @throws tokenUserNotFound, sessionNotFound
 */
export async function refuseLostUser(
  { db, config }: Pick<ActiveCallerDeps, 'config'> & { readonly db: Db },
  { userId, sessionId }: Pick<TokenUser, 'userId' | 'sessionId'>,
): Promise<never> {
  const asksForRow = reportsSession(config, sessionId)
  return refuseUser(config, sessionId, asksForRow ? await findUserById(db, userId) : undefined)
}

/** @throws tokenUserNotFound, sessionNotFound */
function refuseUser(
  config: ActiveCallerDeps['config'],
  sessionId: string | null,
  user: Pick<User, 'deletedAt'> | undefined,
): never {
  return user?.deletedAt && reportsSession(config, sessionId) ? refuseMissingSession() : refuseMissingUser()
}

/** Whether a user who was deleted softly is reported as a session that has ended: the row exists, but has no session. */
function reportsSession({ behaviours }: ActiveCallerDeps['config'], sessionId: string | null): boolean {
  return behaviours.reportDeletedUserAsMissing === 'session' && sessionId !== null
}

/** The dependencies of the check of a fresh sign-in. Undefined `freshForMs`: no sign-in has to be fresh. */
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
  const sinceMs = now().getTime() - freshForMs
  const proofs = session ? await listProofs(db, session.id) : []
  const isFresh = (proof: Proof) => Date.parse(proof.at) >= sinceMs && isByOldCredential(proof, freshForMs)
  if (!proofs.some(isFresh)) throw signInTooOld()
}
