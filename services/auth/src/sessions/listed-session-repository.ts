import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import type { AuthenticationMethod } from '../access-tokens/access-token.ts'
import type { Db, Trx } from '../database.ts'
import type { Cursor } from '../pagination/page-query.ts'
import { NO_TIME, type Timestamp } from '../records/timestamp.ts'
import { type Session, toAal } from './session-repository.ts'

export interface ListedSession extends Session {
  readonly refreshedAt: Timestamp | null
  /** The session's own end. `null` if only the settings limit the session. */
  readonly endsAt: Timestamp | null
  readonly userAgent: string | null
  /** The IP address of the last use. */
  readonly ip: string | null
  readonly tag: string | null
  /** Newest first. */
  readonly amr: readonly AuthenticationMethod[]
}

/** The input for a list of a user's sessions, sorted by creation. */
export interface SessionList {
  readonly userId: string
  readonly direction: 'asc' | 'desc'
  readonly limit: number
  /** The row after which the page begins. */
  readonly after: Cursor | undefined
}

interface ListedRow extends Omit<ListedSession, 'aal' | 'amr'> {
  readonly aal: string | null
  readonly amr: readonly AuthenticationMethod[] | null
}

/**
 * Lists sessions of a user by creation time, then by id, in the direction of the list: at most `limit` after `after`. A session
 * without that time counts as the oldest.
 */
export async function listSessionsOfUser(
  db: Db,
  { userId, direction, limit, after }: SessionList,
): Promise<readonly ListedSession[]> {
  const order = sql.raw(direction === 'asc' ? 'ASC' : 'DESC')
  const createdAt = sql`coalesce(s.created_at, ${NO_TIME}::timestamptz)`
  const { rows } = await sql<ListedRow>`
    SELECT s.id, s.aal, ${createdAt} AS "startedAt", s.not_after AS "endsAt", s.tag,
      s.refreshed_at AT TIME ZONE 'UTC' AS "refreshedAt", s.user_agent AS "userAgent", host(coalesce(s.last_ip, s.ip)) AS ip, (
        SELECT json_agg(json_build_object('method', a.authentication_method,
          'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC, a.id DESC)
        FROM ${sql.table('mfa_amr_claims')} a WHERE a.session_id = s.id) AS amr
    FROM ${sql.table('sessions')} s WHERE s.user_id = ${userId} AND ${isAfter(createdAt, { direction, after })}
    ORDER BY ${createdAt} ${order}, s.id ${order} LIMIT ${limit}`.execute(db)
  return rows.map((row) => ({ ...row, aal: toAal(row.aal), amr: row.amr ?? [] }))
}

/** Lists all sessions of a user, newest first. */
export function listAllSessionsOfUser(db: Db, userId: string): Promise<readonly ListedSession[]> {
  return listSessionsOfUser(db, { userId, direction: 'desc', limit: Number.MAX_SAFE_INTEGER, after: undefined })
}

function isAfter(
  createdAt: RawBuilder<unknown>,
  { direction, after }: Pick<SessionList, 'direction' | 'after'>,
): RawBuilder<boolean> {
  if (after === undefined) return sql`true`
  const beyond = sql.raw(direction === 'asc' ? '>' : '<')
  return sql`(${createdAt}, s.id) ${beyond} (${after.createdAt}::timestamptz, ${after.id}::uuid)`
}

/** Deletes one or all sessions of a user. @returns the number of deleted sessions */
export async function deleteListedSessions(trx: Trx, userId: string, sessionId: string | undefined): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .$if(sessionId !== undefined, (query) => query.where('id', '=', sessionId ?? ''))
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/**
 * Deletes the sessions of a user that began at `since` or later, and those without a start time, which other programs may have
 * written. @returns the number of deleted sessions
 */
export async function deleteSessionsSince(trx: Trx, userId: string, since: Date): Promise<number> {
  const isYoung = sql<boolean>`coalesce(created_at >= ${since}::timestamptz, true)`
  const query = trx.deleteFrom('sessions').where('user_id', '=', userId).where(isYoung)
  return Number((await query.executeTakeFirst()).numDeletedRows)
}

const Moment = z.string().meta({ format: 'date-time', example: '2026-01-02T03:04:05.123456+00:00' })

/** A session as operators see it (console reference: Routes of auth). */
export const ListedSessionView = z
  .object({
    id: z.guid(),
    created_at: Moment,
    refreshed_at: Moment.nullable().meta({ description: 'null: the session was never refreshed' }),
    not_after: Moment.optional(),
    aal: z.enum(['aal1', 'aal2']),
    amr: z.array(z.object({ method: z.string(), timestamp: z.int() })),
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    tag: z.string().optional(),
  })
  .meta({ id: 'ListedSession' })

export type ListedSessionView = z.output<typeof ListedSessionView>

export function viewListedSession(session: ListedSession): ListedSessionView {
  const { id, startedAt, refreshedAt, endsAt, aal, amr, ip, userAgent, tag } = session
  return {
    id,
    created_at: startedAt,
    refreshed_at: refreshedAt,
    not_after: endsAt ?? undefined,
    aal,
    amr: amr.map(({ method, timestamp }) => ({ method, timestamp })),
    ip,
    user_agent: userAgent,
    tag: tag ?? undefined,
  }
}
