import type { Pools } from '@trestle/database/pools.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { type RawBuilder, sql } from 'kysely'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { signInTooOld } from '../errors.ts'
import {
  anonymousNotAllowed,
  identitiesNeedSecondFactor,
  passkeysNeedSecondFactor,
  ssoIdentity,
  ssoPasskey,
} from '../factor-errors.ts'
import { hasVerifiedFactor } from '../factors/factor-repository.ts'
import { NO_TIME } from '../records/timestamp.ts'
import { isPendingSignUp, refuseBanned, requireNotBanned, type User } from '../users/user.ts'
import { findUserById, lockUserById } from '../users/user-repository.ts'
import { refuseMissingSession, refuseMissingUser, requireSession } from './session.ts'
import {
  findSession,
  isByOldCredential,
  isStolen,
  listSessionMethods,
  type Session,
  type SessionMethod,
} from './session-repository.ts'
import { callerAudience, type TokenUser } from './token-user.ts'

/** A user who may change their own account. */
export interface ActiveCaller {
  readonly user: User
  /** `undefined` for a token without a session. Such a token counts as aal1 and as old. */
  readonly session: Session | undefined
}

export interface ActiveCallerDeps {
  readonly config: {
    readonly jwt: { readonly audience: string }
    readonly compatibility: Pick<
      CompatibilityOptions,
      'acceptTokenAudience' | 'reportDeletedUserAsMissing' | 'takeAssuranceLevelFrom'
    >
  }
  readonly now: () => Date
}

/** Finds the user and the session of a caller. Every change needs a live session (reference: Live sessions). */
export async function findCaller(
  deps: ActiveCallerDeps & { readonly db: Db },
  caller: TokenUser,
): Promise<ActiveCaller> {
  const user = await findUserById(deps.db, caller.userId)
  return requireActive(deps.db, deps, caller, isOurs(deps, caller, user) ? user : undefined)
}

/**
 * Locks the user of a caller and finds their session. Every change needs a live session (reference: Live sessions). Requests that
 * end a session wait for the user's lock.
 */
export async function lockCaller(trx: Trx, deps: ActiveCallerDeps, caller: TokenUser): Promise<ActiveCaller> {
  const user = await lockUserById(trx, caller.userId)
  return requireActive(trx, deps, caller, isOurs(deps, caller, user) ? user : undefined)
}

/**
 * Locks the user of a linking flow, who is the caller that began the linking. The audience of the access token was checked then,
 * but the session must not have ended since.
 */
export async function lockLinkingUser(trx: Trx, deps: ActiveCallerDeps, linking: TokenSession): Promise<ActiveCaller> {
  return requireActive(trx, deps, linking, await lockUserById(trx, linking.userId))
}

/** Whether a token is meant for this service. Another service that shares the secret may have other users. */
function isOurs({ config }: Pick<ActiveCallerDeps, 'config'>, caller: TokenUser, user: User | undefined): boolean {
  if (config.compatibility.acceptTokenAudience === 'any' || caller.isAdmin) return true
  return user?.audience === callerAudience(caller, undefined, config.jwt.audience)
}

/** The user of a token, and the assurance level in the token. */
type TokenSession = Pick<TokenUser, 'userId' | 'sessionId' | 'aal'>

/** Requires a user who exists and is not banned, and a live session. @param user the token's user, if found */
async function requireActive(
  db: Db,
  { now, config }: ActiveCallerDeps,
  { userId, sessionId, aal }: TokenSession,
  user: User | undefined,
): Promise<ActiveCaller> {
  if (!user || isPendingSignUp(user) || user.deletedAt !== null) return refuseUser(config, sessionId, user)
  requireNotBanned(user, now())
  if (sessionId === null) return { user, session: undefined }
  const session = requireSession(await findSession(db, userId, sessionId))
  // The session may have been stepped up after this token was issued. A thief of the token has not used the second factor.
  const countsAsSession = aal === 'aal2' || config.compatibility.takeAssuranceLevelFrom === 'session'
  return { user, session: countsAsSession ? session : { ...session, aal: 'aal1' } }
}

/** Refuses a caller whose user no longer exists or is deleted. */
export async function refuseLostUser(
  { db, config }: Pick<ActiveCallerDeps, 'config'> & { readonly db: Db },
  { userId, sessionId }: Pick<TokenUser, 'userId' | 'sessionId'>,
): Promise<never> {
  const asksForRow = reportsSession(config, sessionId)
  return refuseUser(config, sessionId, asksForRow ? await findUserById(db, userId) : undefined)
}

function refuseUser(
  config: ActiveCallerDeps['config'],
  sessionId: string | null,
  user: Pick<User, 'deletedAt'> | undefined,
): never {
  return user?.deletedAt && reportsSession(config, sessionId) ? refuseMissingSession() : refuseMissingUser()
}

/** Whether a softly deleted user is reported as an ended session. The user's row exists, but has no session. */
function reportsSession({ compatibility }: ActiveCallerDeps['config'], sessionId: string | null): boolean {
  return compatibility.reportDeletedUserAsMissing === 'session' && sessionId !== null
}

/** The dependencies of the check for a fresh sign-in. `freshForMs` is `undefined` if the check is disabled. */
export interface FreshSessionDeps {
  readonly config: { readonly sessions: { readonly freshForMs: number | undefined } }
  readonly now: () => Date
}

/**
 * Requires a sign-in or a second factor within SESSIONS_FRESH_FOR before a change of credentials. A credential that was just
 * added does not count. Anonymous users are exempt, because they cannot sign in again.
 */
export async function requireFreshSession(
  db: Db,
  { config, now }: FreshSessionDeps,
  { user, session }: { readonly user: Pick<User, 'isAnonymous'>; readonly session: Pick<Session, 'id'> | undefined },
): Promise<void> {
  const { freshForMs } = config.sessions
  if (freshForMs === undefined || user.isAnonymous) return
  const sinceMs = now().getTime() - freshForMs
  const methods = session ? await listSessionMethods(db, session.id) : []
  const isFresh = (used: SessionMethod) => Date.parse(used.at) >= sinceMs && isByOldCredential(used, freshForMs)
  if (!methods.some(isFresh)) throw signInTooOld()
}

/** A live session with current values of its user. */
interface LiveSession {
  readonly role: string
  /** The console role of the user. `null` for users who are not operators. */
  readonly consoleRole: OperatorRole | null
  /** `null` if the user has no email. */
  readonly email: string | null
  readonly hasShownFactor: boolean
  readonly userHasFactor: boolean
}

/** The limits of sessions in milliseconds. `undefined` means no limit. */
export interface SessionLimits {
  readonly timeboxMs: number | undefined
  readonly inactivityTimeoutMs: number | undefined
}

export interface LiveSessionDeps {
  readonly config: { readonly sessions: SessionLimits }
  readonly pools: Pools
}

export interface FoundSession extends LiveSession {
  readonly isBanned: boolean
}

interface NamedSession {
  readonly sessionId: string
  /** `null` for a token that names no user. */
  readonly userId: string | null
}

/**
 * Requires a session within SESSIONS_TIMEBOX and SESSIONS_INACTIVITY_TIMEOUT. The session's row and access token may outlive
 * these limits, but an admin's rights and new tokens must not (reference: Admins).
 */
export async function requireLiveSession(
  { config, pools }: LiveSessionDeps,
  named: NamedSession,
): Promise<LiveSession> {
  const { isBanned, ...session } = requireSession(await findLiveSession({ config, pools }, named))
  if (isBanned) refuseBanned()
  return session
}

/** Finds a session within those limits, and whether its user is banned. Otherwise returns `undefined`. */
export async function findLiveSession(
  { config, pools }: LiveSessionDeps,
  named: NamedSession,
): Promise<FoundSession | undefined> {
  return toFoundSession(await pools.read.first(liveSessionQuery, toQuery(config.sessions, named)))
}

/** Like `findLiveSession`, in a transaction that has locked the user. It sees the latest commits of other transactions. */
export async function findLiveSessionOfLocked(
  trx: Trx,
  limits: SessionLimits,
  named: NamedSession,
): Promise<FoundSession | undefined> {
  const { rows } = await selectLiveSession(toQuery(limits, named)).execute(trx)
  return toFoundSession(rows[0])
}

function toQuery({ timeboxMs, inactivityTimeoutMs }: SessionLimits, { sessionId, userId }: NamedSession) {
  return {
    sessionId,
    userId,
    timeboxSeconds: timeboxMs === undefined ? null : timeboxMs / 1_000,
    inactivitySeconds: inactivityTimeoutMs === undefined ? null : inactivityTimeoutMs / 1_000,
  }
}

function toFoundSession(row: LiveSessionRow | undefined): FoundSession | undefined {
  if (!row?.is_valid) return undefined
  return {
    role: row.role ?? '',
    consoleRole: OPERATOR_ROLES.find((role) => role === row.console_role) ?? null,
    email: row.email || null,
    hasShownFactor: row.aal === 'aal2',
    userHasFactor: row.has_factor,
    isBanned: row.is_banned === true,
  }
}

interface LiveSessionQuery extends NamedSession {
  /** `null` means no limit. */
  readonly timeboxSeconds: number | null
  readonly inactivitySeconds: number | null
}

interface LiveSessionRow {
  readonly is_banned: boolean | null
  readonly is_valid: boolean
  readonly role: string | null
  readonly console_role: string | null
  readonly email: string | null
  readonly aal: string | null
  readonly has_factor: boolean
}

/** A session that other SQL has inserted may lack this time. */
const startedAt = sql`coalesce(s.created_at, ${sql.lit(NO_TIME)}::timestamptz)`

const liveSessionQuery: PreparedQuery<LiveSessionQuery, LiveSessionRow> = prepare(
  'find_live_session',
  selectLiveSession,
)

function selectLiveSession(p: LiveSessionQuery): RawBuilder<LiveSessionRow> {
  return sql<LiveSessionRow>`SELECT u.banned_until > now() AS is_banned,
    coalesce(s.not_after >= now(), true)
      AND coalesce(${startedAt} + make_interval(secs => ${p.timeboxSeconds}::float8) >= now(), true)
      AND coalesce(coalesce(s.refreshed_at AT TIME ZONE 'UTC', ${startedAt})
        + make_interval(secs => ${p.inactivitySeconds}::float8) >= now(), true)
      AND NOT ${isStolen()} AS is_valid, u.role, u.console_role, u.email, s.aal,
    EXISTS (SELECT FROM ${sql.table('mfa_factors')} f WHERE f.user_id = u.id AND f.status = 'verified') AS has_factor
    FROM ${sql.table('sessions')} s JOIN ${sql.table('users')} u ON u.id = s.user_id
    WHERE s.id = ${p.sessionId} AND s.user_id = coalesce(${p.userId}::uuid, s.user_id) AND u.deleted_at IS NULL`
}

interface IdentityOwnerDeps extends FreshSessionDeps {
  readonly config: Pick<AuthConfig, 'security' | 'sessions'>
}

/**
 * Requires that a caller may link and unlink identities. Existing clients do this at aal1. In the strict profile a user with a
 * second factor must have used it.
 */
export async function requireIdentityOwner(db: Db, deps: IdentityOwnerDeps, caller: ActiveCaller): Promise<void> {
  await requireIdentityFactor(db, deps, caller)
  await requireFreshSession(db, deps, caller)
}

/**
 * Requires that a user may add an identity, in every profile. An SSO user who was removed at the company's identity provider
 * could otherwise still sign in. Checked again when a linking flow returns.
 */
export function requireLinkable({ user }: Pick<ActiveCaller, 'user'>): void {
  if (user.isSsoUser) throw ssoIdentity()
}

/** Requires only the second factor. Checked again after a linking flow, because the user may have enrolled one since. */
export async function requireIdentityFactor(
  db: Db,
  { config }: Pick<IdentityOwnerDeps, 'config'>,
  caller: ActiveCaller,
): Promise<void> {
  if (config.security.factorGuardsIdentities) await requireShownFactor(db, caller)
}

/**
 * Requires that a user with a second factor has used it, in every profile. For a change of identities that also changes an
 * address.
 */
export async function requireShownFactor(db: Db, { session, user }: ActiveCaller): Promise<void> {
  if (session?.aal !== 'aal2' && (await hasVerifiedFactor(db, user.id))) throw identitiesNeedSecondFactor()
}

export interface FactorOwner {
  readonly user: User
  readonly session: Session
}

/**
 * Requires a session and a user who is not anonymous. Only users who can sign in again need a factor, and it steps up a session
 * (reference: Live sessions).
 */
export function requireFactorOwner({ user, session: found }: ActiveCaller): FactorOwner {
  const session = requireSession(found)
  if (user.isAnonymous) throw anonymousNotAllowed()
  return { user, session }
}

/**
 * Requires that a caller may change passkeys. A user with a second factor must have used it. Otherwise a thief of the password
 * could add a passkey.
 */
export async function requirePasskeyOwner(db: Db, deps: FreshSessionDeps, caller: ActiveCaller): Promise<FactorOwner> {
  const owner = requireFactorOwner(caller)
  if (owner.session.aal !== 'aal2' && (await hasVerifiedFactor(db, owner.user.id))) throw passkeysNeedSecondFactor()
  await requireFreshSession(db, deps, caller)
  return owner
}

/**
 * Requires that a caller may register a passkey. An SSO user who was removed at the identity provider could otherwise still sign
 * in by passkey.
 */
export async function requirePasskeyRegistrant(
  db: Db,
  deps: FreshSessionDeps,
  caller: ActiveCaller,
): Promise<FactorOwner> {
  if (caller.user.isSsoUser) throw ssoPasskey()
  return requirePasskeyOwner(db, deps, caller)
}
