import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type ProfileRow, profileColumns, toProfile } from '../users/profile.ts'
import type { AuthenticationMethod } from './access-token.ts'
import type { StoredSession } from './session-repository.ts'

interface TokenSessionRow extends ProfileRow {
  readonly session_id: string
  readonly aal: string
  readonly started_at: string
  readonly amr: readonly AuthenticationMethod[] | null
}

const findSessionOfTokenQuery: PreparedQuery<{ readonly tokenHash: Buffer }, TokenSessionRow> = prepare(
  'find_session_of_token',
  (p) => sql`SELECT ${profileColumns()}, s.id AS session_id, s.aal, s.created_at AS started_at, (
      SELECT json_agg(json_build_object('method', a.authentication_method,
        'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC, a.id DESC)
      FROM ${sql.table('mfa_amr_claims')} a WHERE a.session_id = s.id) AS amr
    FROM ${sql.table('refresh_tokens')} t
    JOIN ${sql.table('sessions')} s ON s.id = t.session_id
    JOIN ${sql.table('users')} u ON u.id = t.user_id
    WHERE t.token_hash = ${p.tokenHash}`,
)

/** The session of a refresh token as it is, whether or not the token is good for anything: that is judged elsewhere. */
export async function findSessionOfToken(lanes: Lanes, tokenHash: Buffer): Promise<StoredSession | undefined> {
  const row = await lanes.read.first(findSessionOfTokenQuery, { tokenHash })
  if (!row) return undefined
  return {
    ...toProfile(row),
    sessionId: row.session_id,
    aal: row.aal === 'aal2' ? 'aal2' : 'aal1',
    startedAt: row.started_at,
    amr: row.amr ?? [],
  }
}
