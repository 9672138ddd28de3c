import type { Pools } from '@trestle/database/pools.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { AssuranceLevel, AuthenticationMethod } from '../access-tokens/access-token.ts'
import type { Db, Trx } from '../database.ts'
import { FACTOR_METHODS } from '../factors/factor.ts'
import { NO_TIME, type Timestamp } from '../records/timestamp.ts'
import {
  type ProfileJson,
  type ProfileRow,
  profileColumns,
  toProfile,
  toProfileOfJson,
} from '../users/profile-repository.ts'
import type { StoredSession, UpstreamSession } from './session.ts'

/** The result of SQL functions that create or change a session. In a refusal all columns except `verdict` are `NULL`. */
export interface SessionRow {
  readonly verdict: string
  readonly session_id: string
  readonly aal: string
  readonly started_at: string
  readonly amr: readonly AuthenticationMethod[]
  readonly profile: ProfileJson
}

/** The columns of a `SessionRow`, from a SQL function whose result has the alias `r`. */
export const sessionColumns = sql`r.verdict, r.session_id, r.aal, r.started_at, r.amr, r.profile`

export function toStoredSession(row: SessionRow): StoredSession {
  return {
    ...toProfileOfJson(row.profile),
    sessionId: row.session_id,
    aal: toAal(row.aal),
    startedAt: row.started_at,
    amr: row.amr,
  }
}

/** Checks the verdict of a SQL function. @throws Error for a verdict that this release does not know */
export function toVerdict<const Verdict extends string>(text: string, known: readonly Verdict[]): Verdict {
  const verdict = known.find((candidate) => candidate === text)
  if (verdict === undefined) throw new Error(`the database answered "${text}"`)
  return verdict
}

/** A session that has not ended. */
export interface Session {
  readonly id: string
  readonly aal: AssuranceLevel
  readonly startedAt: Timestamp
}

/**
 * Whether the session of row `s` was revoked as stolen, because its newest refresh token is revoked. Its row stays, so that its
 * other tokens are recognized, and its access token stays valid. Neither may start or finish anything.
 */
export function isStolen(): RawBuilder<boolean> {
  return sql<boolean>`(SELECT t.revoked FROM ${sql.table('refresh_tokens')} t
    WHERE t.session_id = s.id ORDER BY t.counter DESC LIMIT 1) IS TRUE`
}

/**
 * Finds a session of a user without a lock. Returns `undefined` if the session has ended, was revoked as stolen, or belongs to
 * another user.
 */
export async function findSession(db: Db, userId: string, sessionId: string): Promise<Session | undefined> {
  const row = await db
    .selectFrom('sessions as s')
    .select(['s.id', 's.aal', 's.created_at'])
    .where('s.id', '=', sessionId)
    .where('s.user_id', '=', userId)
    .where(sql<boolean>`NOT ${isStolen()}`)
    .executeTakeFirst()
  return row && { id: row.id, aal: toAal(row.aal), startedAt: row.created_at ?? NO_TIME }
}

interface StoredSessionRow extends ProfileRow {
  readonly session_id: string
  readonly aal: string | null
  readonly started_at: string | null
  readonly amr: readonly AuthenticationMethod[] | null
}

const findSessionOfTokenQuery: PreparedQuery<{ readonly tokenHash: Buffer }, StoredSessionRow> = prepare(
  'find_session_of_token',
  (p) => sql`${selectStoredSession()} JOIN ${sql.table('refresh_tokens')} t ON t.session_id = s.id
    WHERE t.token_hash = ${p.tokenHash}`,
)

const findStoredSessionQuery: PreparedQuery<{ readonly sessionId: string }, StoredSessionRow> = prepare(
  'find_stored_session',
  (p) => sql`${selectStoredSession()} WHERE s.id = ${p.sessionId}`,
)

/** Finds the session of a refresh token, valid or not, by the token's hash. Returns `undefined` if there is none. */
export async function findSessionOfToken(pools: Pools, tokenHash: Buffer): Promise<StoredSession | undefined> {
  return toStoredSessionOfRow(await pools.read.first(findSessionOfTokenQuery, { tokenHash }))
}

/** Finds a session with all values of its tokens, on the read pool. Returns `undefined` if it has ended. */
export async function findStoredSession(pools: Pools, sessionId: string): Promise<StoredSession | undefined> {
  return toStoredSessionOfRow(await pools.read.first(findStoredSessionQuery, { sessionId }))
}

function selectStoredSession(): RawBuilder<unknown> {
  return sql`SELECT ${profileColumns()}, s.id AS session_id, s.aal, s.created_at AS started_at, (
      SELECT json_agg(json_build_object('method', a.authentication_method,
        'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC, a.id DESC)
      FROM ${sql.table('mfa_amr_claims')} a WHERE a.session_id = s.id) AS amr
    FROM ${sql.table('sessions')} s JOIN ${sql.table('users')} u ON u.id = s.user_id`
}

function toStoredSessionOfRow(row: StoredSessionRow | undefined): StoredSession | undefined {
  if (!row) return undefined
  return {
    ...toProfile(row),
    sessionId: row.session_id,
    aal: toAal(row.aal),
    startedAt: row.started_at ?? NO_TIME,
    amr: row.amr ?? [],
  }
}

/** The assurance level in a row. `NULL` counts as aal1. */
export function toAal(text: string | null): AssuranceLevel {
  return text === 'aal2' ? 'aal2' : 'aal1'
}

/** The sessions that a sign-out ends: all, the session of the access token, or all others. */
export type SignOutScope = 'global' | 'local' | 'others'

/** The input of a sign-out, with the values of its audit entry. */
interface SignOut {
  readonly userId: string
  /** The required audience of the user. `null` means any audience. */
  readonly audience: string | null
  /** `null` for a token without the claim. It ends all sessions in every scope. */
  readonly sessionId: string | null
  readonly scope: SignOutScope
  /** Whether to refuse a token of an ended session. */
  readonly liveSessionOnly: boolean
  readonly ip: string
  readonly audit: boolean
}

const SIGN_OUT_VERDICTS = ['done', 'user-not-found', 'user-banned', 'session-not-found'] as const

/** The result of ending sessions. Only `done` ends sessions. */
export type SignOutVerdict = (typeof SIGN_OUT_VERDICTS)[number]

const signOutQuery: PreparedQuery<SignOut, { readonly verdict: string }> = prepare(
  'sign_out',
  (p) => sql`SELECT CASE
      WHEN ${p.audience}::text IS NULL
        OR ${p.audience} = (SELECT u.aud FROM ${sql.table('users')} u WHERE u.id = ${p.userId})
      THEN ${sql.table('sign_out')}(
        ${p.userId}, ${p.sessionId}, ${p.scope}, ${p.liveSessionOnly}, ${p.ip}, ${p.audit})
      ELSE 'user-not-found'
    END AS verdict`,
)

/** Ends sessions of a user with their refresh tokens, under the user's lock, in one database call. */
export async function deleteSessionsInScope(pools: Pools, input: SignOut): Promise<SignOutVerdict> {
  return toVerdict((await pools.write.one(signOutQuery, input)).verdict, SIGN_OUT_VERDICTS)
}

/** Ends a session, with its refresh tokens. */
export async function deleteSession(db: Db, sessionId: string): Promise<void> {
  await db.deleteFrom('sessions').where('id', '=', sessionId).execute()
}

/** Ends all sessions of a locked user with their refresh tokens, except the session `keptId`. */
export async function deleteSessionsOfUser(trx: Trx, userId: string, keptId: string | null = null): Promise<void> {
  const query = trx.deleteFrom('sessions').where('user_id', '=', userId)
  await (keptId === null ? query : query.where('id', '<>', keptId)).execute()
}

const findUpstreamSessionQuery: PreparedQuery<{ readonly sessionId: string }, UpstreamSessionRow> = prepare(
  'find_upstream_session',
  (p) => sql`
    SELECT id, refresh_token_hmac_key AS "hmacKey", refresh_token_counter::text AS counter FROM ${sql.table('sessions')}
    WHERE id = ${p.sessionId} AND refresh_token_hmac_key IS NOT NULL AND refresh_token_counter IS NOT NULL`,
)

type UpstreamSessionRow = Omit<UpstreamSession, 'counter'> & { readonly counter: string }

/** Finds a session with supabase/auth's refresh tokens of the second form. Returns `undefined` for other sessions. */
export async function findUpstreamSession(pools: Pools, sessionId: string): Promise<UpstreamSession | undefined> {
  const row = await pools.read.first(findUpstreamSessionQuery, { sessionId })
  return row && { ...row, counter: BigInt(row.counter) }
}

const insertAncestorQuery: PreparedQuery<{ readonly sessionId: string; readonly tokenHash: Buffer }, { id: string }> =
  prepare(
    'insert_ancestor',
    (p) => sql`
    INSERT INTO ${sql.table('refresh_tokens')} (session_id, user_id, token_hash, counter, revoked, created_at, updated_at)
      SELECT s.id, s.user_id, ${p.tokenHash}, coalesce(min(t.counter), 0) - 1, true, 'epoch', 'epoch'
      FROM ${sql.table('sessions')} s LEFT JOIN ${sql.table('refresh_tokens')} t ON t.session_id = s.id
      WHERE s.id = ${p.sessionId} GROUP BY s.id ON CONFLICT DO NOTHING RETURNING id`,
  )

/** Inserts a spent refresh token before the oldest token of its session, unless it exists. */
export async function insertAncestor(
  pools: Pools,
  ancestor: { readonly sessionId: string; readonly tokenHash: Buffer },
): Promise<void> {
  await pools.write.first(insertAncestorQuery, ancestor)
}

/** An authentication method of a session, and when it was last used: an entry of its `amr`. */
export interface SessionMethod {
  readonly method: string
  readonly at: Timestamp
  /** When the credential was added to the account. `null` means when the account was created. */
  readonly credentialSince: Timestamp | null
}

/**
 * The minimum age of a credential for a new password, and the maximum age of the sign-in with it (reference: Change of password).
 */
export const PASSWORD_METHOD_MS = 24 * 3_600_000

/**
 * Whether the credential was at least this old at that time. A thief of a session could add a credential and immediately sign in
 * with it.
 */
export function isByOldCredential({ at, credentialSince }: SessionMethod, ageMs: number): boolean {
  return credentialSince === null || Date.parse(at) - Date.parse(credentialSince) >= ageMs
}

/** Lists the authentication methods of a session, unordered. An ended session has none. */
export async function listSessionMethods(db: Db, sessionId: string): Promise<readonly SessionMethod[]> {
  return db
    .selectFrom('mfa_amr_claims')
    .select(['authentication_method as method', 'updated_at as at', 'credential_since as credentialSince'])
    .where('session_id', '=', sessionId)
    .execute()
}

/** Stores when a method's credential was added to the account. `null` means when the account was created. */
export async function updateCredentialSince(
  trx: Db,
  { sessionId, method }: { readonly sessionId: string; readonly method: string },
  since: Timestamp | Date | null,
): Promise<void> {
  await trx
    .updateTable('mfa_amr_claims')
    .set({ credential_since: since })
    .where('session_id', '=', sessionId)
    .where('authentication_method', '=', method)
    .execute()
}

/**
 * Copies the authentication methods of a session, except second factors, to another session of its user. A copied method replaces
 * the same method, because it has the time of the earlier credential.
 */
export async function upsertCopiedMethods(
  trx: Db,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const columns = ['authentication_method', 'credential_since', 'created_at', 'updated_at'] as const
  await trx
    .insertInto('mfa_amr_claims')
    .columns(['id', 'session_id', ...columns])
    .expression((query) =>
      query
        .selectFrom('mfa_amr_claims')
        .select([
          sql<string>`${sql.table('uuid_v7')}()`.as('id'),
          sql.val(to).$castTo<string>().as('session_id'),
          ...columns,
        ])
        .where('session_id', '=', from)
        .where('authentication_method', 'not in', Object.values(FACTOR_METHODS)),
    )
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'authentication_method']).doUpdateSet((row) => ({
        credential_since: row.ref('excluded.credential_since'),
        created_at: row.ref('excluded.created_at'),
        updated_at: row.ref('excluded.updated_at'),
      })),
    )
    .execute()
}
