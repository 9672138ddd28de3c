import { type Kysely, sql } from 'kysely'
import { hasRelation } from '../../schema/catalog.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { insertCopies } from '../copy/copy-refresh-tokens.ts'
import { findVersion } from '../upstream-tables.ts'

/**
 * supabase/auth gives a session to a refresh token from before there were sessions when the token is used. Since 2.108, which has
 * this migration, it ends the connection or refuses such a token.
 */
const NEEDS_SESSION = '20231027141322'
/** The table of the sessions that a switch has begun, each with its refresh token. */
export const BEGUN_SESSIONS = 'begun_sessions'
/** The form of an id of a user: supabase/auth has the ids as texts in `refresh_tokens`. */
const UUID = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
const hasNoSession = sql`t.session_id IS NULL AND t.token <> '' AND t.revoked IS NOT TRUE`
const userOf = sql`CASE WHEN t.user_id ~ ${sql.lit(UUID)} THEN t.user_id::uuid END`

/**
 * Begins a session for each live refresh token without one, which supabase/auth would begin at its next use, and copies the token
 * and its parent. In the tables of supabase/auth, which have moved, both get the session until an undo, so that they end with it.
 */
export async function beginMissingSessions(trx: Kysely<unknown>, { names, kept }: AdoptionPlaces): Promise<void> {
  const [begun, old] = [sql.id(kept, BEGUN_SESSIONS), sql.id(kept, 'refresh_tokens')]
  const isServed = ((await findVersion(trx, names)) ?? '') < NEEDS_SESSION
  await sql`
    CREATE TABLE ${begun} AS SELECT gen_random_uuid() AS id, t.id AS token_id, u.id AS user_id,
        coalesce(t.created_at, t.updated_at) AS created_at
      FROM ${old} t JOIN ${names.id('users')} u ON u.id = ${userOf} WHERE ${hasNoSession} AND ${sql.lit(isServed)}`.execute(
    trx,
  )
  await sql`
    INSERT INTO ${names.id('sessions')} (id, user_id, aal, created_at, updated_at)
      SELECT b.id, b.user_id, 'aal1', coalesce(t.created_at, t.updated_at), coalesce(t.updated_at, t.created_at)
      FROM ${begun} b JOIN ${old} t ON t.id = b.token_id`.execute(trx)
  await sql`UPDATE ${old} t SET session_id = b.id FROM ${begun} b WHERE t.id = b.token_id`.execute(trx)
  await sql`
    UPDATE ${old} p SET session_id = b.id FROM ${begun} b JOIN ${old} t ON t.id = b.token_id
      WHERE p.token = t.parent AND p.session_id IS NULL`.execute(trx)
  // By one statement, since requests wait: parts of some hundred sessions take twice as long.
  await insertCopies(
    trx,
    { own: names.id('refresh_tokens'), idOffset: 0n },
    sql`
      ${begun} s JOIN ${old} t ON t.session_id = s.id AND t.token <> ''
      LEFT JOIN ${old} p ON p.token = t.parent AND p.session_id = t.session_id`,
  )
}

/**
 * Takes back the sessions that the switch has begun. Their tokens have no session again, but for those that
 * have ended here, which must be deleted before.
 */
export async function takeBackBegunSessions(trx: Kysely<unknown>, { names, kept }: AdoptionPlaces): Promise<void> {
  const begun = sql`(SELECT id FROM ${sql.id(kept, BEGUN_SESSIONS)})`
  await sql`UPDATE ${sql.id(kept, 'refresh_tokens')} SET session_id = NULL WHERE session_id IN ${begun}`.execute(trx)
  await sql`DELETE FROM ${names.id('sessions')} WHERE id IN ${begun}`.execute(trx)
}

/** How many live refresh tokens without a session there are, of which supabase/auth refreshes each. */
export async function countTokensWithoutSession(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
): Promise<number> {
  if (
    ((await findVersion(db, names)) ?? '') >= NEEDS_SESSION ||
    !(await hasRelation(db, names.schema, 'refresh_tokens'))
  )
    return 0
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${names.id('refresh_tokens')} t JOIN ${names.id('users')} u ON u.id = ${userOf}
    WHERE ${hasNoSession}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}
