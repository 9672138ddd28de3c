import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { AuthenticationMethod } from '../access-tokens/access-token.ts'
import { type ProfileRow, profileColumns, toProfile } from '../users/profile.ts'
import { NO_TIME } from '../users/stored-values.ts'
import type { StoredSession } from './session-repository.ts'

interface StoredSessionRow extends ProfileRow {
  readonly session_id: string
  readonly aal: string | null
  readonly started_at: string | null
  readonly amr: readonly AuthenticationMethod[] | null
}

const findSessionOfTokenQuery: PreparedQuery<{ readonly tokenHash: Buffer }, StoredSessionRow> = prepare(
  'find_session_of_token',
  (p) => sql`${selectSession()} JOIN ${sql.table('refresh_tokens')} t ON t.session_id = s.id
    WHERE t.token_hash = ${p.tokenHash}`,
)

const findStoredSessionQuery: PreparedQuery<{ readonly sessionId: string }, StoredSessionRow> = prepare(
  'find_stored_session',
  (p) => sql`${selectSession()} WHERE s.id = ${p.sessionId}`,
)

/** The session of a refresh token as it is, whether or not the token is good for anything: that is judged elsewhere. */
export async function findSessionOfToken(lanes: Lanes, tokenHash: Buffer): Promise<StoredSession | undefined> {
  return toStoredSession(await lanes.read.first(findSessionOfTokenQuery, { tokenHash }))
}

/** A session with all that its tokens tell. */
export async function findStoredSession(lanes: Lanes, sessionId: string): Promise<StoredSession | undefined> {
  return toStoredSession(await lanes.read.first(findStoredSessionQuery, { sessionId }))
}

function selectSession(): RawBuilder<unknown> {
  return sql`SELECT ${profileColumns()}, s.id AS session_id, s.aal, s.created_at AS started_at, (
      SELECT json_agg(json_build_object('method', a.authentication_method,
        'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC, a.id DESC)
      FROM ${sql.table('mfa_amr_claims')} a WHERE a.session_id = s.id) AS amr
    FROM ${sql.table('sessions')} s JOIN ${sql.table('users')} u ON u.id = s.user_id`
}

function toStoredSession(row: StoredSessionRow | undefined): StoredSession | undefined {
  if (!row) return undefined
  return {
    ...toProfile(row),
    sessionId: row.session_id,
    aal: row.aal === 'aal2' ? 'aal2' : 'aal1',
    startedAt: row.started_at ?? NO_TIME,
    amr: row.amr ?? [],
  }
}
