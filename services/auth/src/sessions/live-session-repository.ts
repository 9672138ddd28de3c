import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'

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
  readonly role: string
}

const findLiveSessionQuery: PreparedQuery<LiveSessionQuery, LiveSessionRow> = prepare(
  'find_live_session',
  (p) => sql`SELECT u.banned_until > now() AS is_banned,
    coalesce(s.not_after >= now(), true)
      AND coalesce(s.created_at + make_interval(secs => ${p.timeboxSeconds}::float8) >= now(), true)
      AND coalesce(coalesce(s.refreshed_at, s.created_at)
        + make_interval(secs => ${p.inactivitySeconds}::float8) >= now(), true) AS is_valid, u.role
    FROM ${sql.table('sessions')} s JOIN ${sql.table('users')} u ON u.id = s.user_id
    WHERE s.id = ${p.sessionId} AND s.user_id = coalesce(${p.userId}::uuid, s.user_id) AND u.deleted_at IS NULL`,
)

/** How a session stands: while it lives, `role` is the present one of its user. */
export type SessionStanding =
  | { readonly standing: 'live'; readonly role: string }
  | { readonly standing: 'ended' | 'user-banned' }

/** How the session that a token names stands (contract 5.3). */
export async function findSessionStanding(lanes: Lanes, query: LiveSessionQuery): Promise<SessionStanding> {
  const row = await lanes.read.first(findLiveSessionQuery, query)
  if (!row?.is_valid) return { standing: 'ended' }
  return row.is_banned ? { standing: 'user-banned' } : { standing: 'live', role: row.role }
}
