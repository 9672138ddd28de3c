import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../database.ts'
import { NO_TIME } from '../records/timestamp.ts'
import { refuseBanned } from '../users/user.ts'
import { requireSession } from './session.ts'
import { isStolen } from './session-repository.ts'

/** A session that is live, and its user as they are at present. */
export interface LiveSession {
  readonly role: string
  /** The role of the user as an operator; null for other users. */
  readonly consoleRole: OperatorRole | null
  /** Null when none. */
  readonly email: string | null
  readonly hasShownFactor: boolean
  readonly userHasFactor: boolean
}

/** The limits of sessions in milliseconds, undefined where there is none. */
export interface SessionLimits {
  readonly timeboxMs: number | undefined
  readonly inactivityTimeoutMs: number | undefined
}

/** The limits of sessions, and the database that has the sessions. */
export interface LiveSessionDeps {
  readonly config: { readonly sessions: SessionLimits }
  readonly lanes: Lanes
}

/** A session that is live, and whether its user is banned. */
export interface FoundSession extends LiveSession {
  readonly isBanned: boolean
}

/** The session that a token names. */
export interface NamedSession {
  readonly sessionId: string
  /** Null for a token that names no user. */
  readonly userId: string | null
}

/**
 * Requires a session that is within SESSIONS_TIMEBOX and SESSIONS_INACTIVITY_TIMEOUT. The row of a session outlives these
 * limits, and so may its access token, but an admin's rights and new tokens must not (reference: Admins).
 * @throws sessionNotFound, userBanned
 */
export async function requireLiveSession(
  { config, lanes }: LiveSessionDeps,
  named: NamedSession,
): Promise<LiveSession> {
  const { isBanned, ...session } = requireSession(await findLiveSession({ config, lanes }, named))
  if (isBanned) refuseBanned()
  return session
}

/** Finds a session that is within those limits, and whether its user is banned; undefined for any other session. */
export async function findLiveSession(
  { config, lanes }: LiveSessionDeps,
  named: NamedSession,
): Promise<FoundSession | undefined> {
  return toFoundSession(await lanes.read.first(liveSessionQuery, toQuery(config.sessions, named)))
}

/**
 * Finds a session as `findLiveSession` does, in a transaction that has locked its user: it sees what others
 * have just committed.
 */
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
  /** Null is no limit. */
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

/** A session that foreign SQL has inserted may lack the time. */
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
