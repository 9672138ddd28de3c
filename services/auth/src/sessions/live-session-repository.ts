import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { NO_TIME } from '../users/stored-values.ts'

export interface LiveSessionQuery {
  readonly sessionId: string
  /** Null for a token that names no user. */
  readonly userId: string | null
  /** SESSIONS_TIMEBOX and SESSIONS_INACTIVITY_TIMEOUT; null is no limit. */
  readonly timeboxSeconds: number | null
  readonly inactivitySeconds: number | null
}

interface LiveSessionRow {
  readonly is_banned: boolean | null
  readonly is_valid: boolean
  readonly role: string | null
  readonly aal: string | null
  readonly has_factor: boolean
}

/** A session that SQL of others has made may lack the time. */
const startedAt = sql`coalesce(s.created_at, ${sql.lit(NO_TIME)}::timestamptz)`

const findLiveSessionQuery: PreparedQuery<LiveSessionQuery, LiveSessionRow> = prepare(
  'find_live_session',
  (p) => sql`SELECT u.banned_until > now() AS is_banned,
    coalesce(s.not_after >= now(), true)
      AND coalesce(${startedAt} + make_interval(secs => ${p.timeboxSeconds}::float8) >= now(), true)
      AND coalesce(coalesce(s.refreshed_at AT TIME ZONE 'UTC', ${startedAt})
        + make_interval(secs => ${p.inactivitySeconds}::float8) >= now(), true) AS is_valid, u.role, s.aal,
    EXISTS (SELECT FROM ${sql.table('mfa_factors')} f WHERE f.user_id = u.id AND f.status = 'verified') AS has_factor
    FROM ${sql.table('sessions')} s JOIN ${sql.table('users')} u ON u.id = s.user_id
    WHERE s.id = ${p.sessionId} AND s.user_id = coalesce(${p.userId}::uuid, s.user_id) AND u.deleted_at IS NULL`,
)

/** A session that lives, and its user as they are at present. */
export interface LiveSession {
  readonly role: string
  readonly hasShownFactor: boolean
  readonly userHasFactor: boolean
}

export type SessionStanding =
  | { readonly standing: 'live'; readonly session: LiveSession }
  | { readonly standing: 'ended' | 'user-banned' }

/** Whether the session that a token names is live (reference: Admins). */
export async function findSessionStanding(lanes: Lanes, query: LiveSessionQuery): Promise<SessionStanding> {
  const row = await lanes.read.first(findLiveSessionQuery, query)
  if (!row?.is_valid) return { standing: 'ended' }
  if (row.is_banned) return { standing: 'user-banned' }
  const session = { role: row.role ?? '', hasShownFactor: row.aal === 'aal2', userHasFactor: row.has_factor }
  return { standing: 'live', session }
}
