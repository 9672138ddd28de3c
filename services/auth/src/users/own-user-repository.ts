import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type Profile, type ProfileRow, profileColumns, toProfile } from './profile.ts'

export interface OwnUserQuery {
  readonly userId: string
  /** The session whose row is looked for; null finds none missing. */
  readonly sessionId: string | null
}

/** A user who asks in their own name. */
export interface OwnUser extends Profile {
  readonly isBanned: boolean
  /** True for a token without session. */
  readonly isSessionLive: boolean
}

interface OwnUserRow extends ProfileRow {
  readonly is_banned: boolean | null
  readonly is_session_live: boolean
}

const ownUser = sql`SELECT ${profileColumns()}, u.banned_until > now() AS is_banned`

const findOwnUserQuery: PreparedQuery<Pick<OwnUserQuery, 'userId'>, OwnUserRow> = prepare(
  'find_own_user',
  (p) => sql`${ownUser}, true AS is_session_live
    FROM ${sql.table('users')} u WHERE u.id = ${p.userId} AND u.deleted_at IS NULL`,
)

const findOwnUserOfSession: PreparedQuery<OwnUserQuery, OwnUserRow> = prepare(
  'find_own_user_of_session',
  (p) => sql`${ownUser}, EXISTS (
      SELECT FROM ${sql.table('sessions')} s WHERE s.id = ${p.sessionId} AND s.user_id = u.id) AS is_session_live
    FROM ${sql.table('users')} u WHERE u.id = ${p.userId} AND u.deleted_at IS NULL`,
)

/** Reads a user, everything their record shows, and whether they may still ask: in one statement, without a lock. */
export async function findOwnUser(lanes: Lanes, query: OwnUserQuery): Promise<OwnUser | undefined> {
  const row = await lanes.read.first(query.sessionId === null ? findOwnUserQuery : findOwnUserOfSession, query)
  return row && { ...toProfile(row), isBanned: row.is_banned ?? false, isSessionLive: row.is_session_live }
}
