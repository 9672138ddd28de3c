import { type NumberedRow, orderResults } from '@trestle/database/batches/ordered-results.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import { type Kysely, sql } from 'kysely'
import type { AuthenticationMethod } from '../access-tokens/access-token.ts'
import type { AuthDatabase } from '../database.ts'
import { type ProfileJson, toProfileOfJson } from '../users/profile.ts'
import type { IssuedSession, SignInMethod } from './session.ts'

/** Who asks for a session. */
export interface SessionOrigin {
  readonly userAgent: string | null
  /** A valid IP address, or empty. */
  readonly ip: string
}

/** What the database's functions about sessions answer. All but the verdict is null in a refusal. */
export interface SessionRow {
  readonly verdict: string
  readonly session_id: string
  readonly aal: string
  readonly started_at: string
  readonly amr: readonly AuthenticationMethod[]
  readonly profile: ProfileJson
}

/** A session without its clear refresh token. */
export type StoredSession = Omit<IssuedSession, 'refreshToken'>

export const sessionColumns = sql`r.verdict, r.session_id, r.aal, r.started_at, r.amr, r.profile`

interface NewSession extends SessionOrigin {
  readonly userId: string
  readonly tokenHash: Buffer
  readonly method: SignInMethod
}

/** Opens a session inside the caller's transaction. Throws when the user is gone. */
export async function insertSession(trx: Kysely<AuthDatabase>, input: NewSession): Promise<StoredSession> {
  const { rows } = await sql<SessionRow>`SELECT ${sessionColumns} FROM ${sql.table('create_session')}(
    ${input.userId}, ${input.tokenHash}, ${input.method}, ${input.userAgent}, ${input.ip}) AS r`.execute(trx)
  const row = rows[0]
  if (row?.verdict !== 'done') throw new Error('no user to open a session for')
  return toStoredSession(row)
}

interface Promotion extends SessionOrigin {
  readonly userId: string
  readonly sessionId: string
  readonly factorId: string
  /** What its proof adds to the `amr`. */
  readonly method: string
  readonly tokenHash: Buffer
}

/**
 * Raises a session to aal2 inside the caller's transaction, which has locked the user: the token takes the place of all
 * before it, and other sessions of the user below aal2 end. @returns undefined when the session may not be refreshed any more
 */
export async function callPromoteSession(
  trx: Kysely<AuthDatabase>,
  input: Promotion,
): Promise<StoredSession | undefined> {
  const { rows } = await sql<SessionRow>`SELECT ${sessionColumns} FROM ${sql.table('promote_session')}(
    ${input.userId}, ${input.sessionId}, ${input.factorId}, ${input.method}, ${input.tokenHash}, ${input.userAgent},
    ${input.ip}) AS r`.execute(trx)
  const [row] = rows
  return row?.verdict === 'done' ? toStoredSession(row) : undefined
}

export interface PasswordLogin extends SessionOrigin {
  readonly userId: string
  /** The stored hash that the password was compared with. */
  readonly verifiedHash: string
  /** Takes its place; null when it may stay. */
  readonly newHash: string | null
  readonly provider: 'email' | 'phone'
  readonly tokenHash: Buffer
}

/** What holds for every log-in of a service. */
export interface PasswordLoginRules {
  readonly audit: boolean
}

export type PasswordLoginResult =
  | { readonly verdict: 'done'; readonly session: StoredSession }
  | { readonly verdict: 'password-changed' | 'user-banned' | 'email-not-confirmed' | 'phone-not-confirmed' }

const finishPasswordLogin: PreparedQuery<PasswordLogin & PasswordLoginRules, SessionRow> = prepare(
  'finish_password_login',
  (p) => sql`SELECT ${sessionColumns} FROM ${sql.table('finish_password_login')}(${p.userId}, ${p.verifiedHash},
    ${p.newHash}, ${p.provider}, ${p.tokenHash}, ${p.userAgent}, ${p.ip}, ${p.audit}) AS r`,
)

/** Opens a session for a user whose password was right, if nothing has changed since it was compared. */
export async function callFinishPasswordLogin(
  lanes: Lanes,
  login: PasswordLogin,
  rules: PasswordLoginRules,
): Promise<PasswordLoginResult> {
  return toPasswordLoginResult(await lanes.write.one(finishPasswordLogin, { ...login, ...rules }))
}

interface ManyPasswordLogins extends PasswordLoginRules {
  readonly userIds: readonly string[]
  readonly verifiedHashes: readonly string[]
  readonly newHashes: readonly (string | null)[]
  readonly providers: readonly string[]
  readonly tokenHashes: readonly Buffer[]
  readonly userAgents: readonly (string | null)[]
  readonly ips: readonly string[]
}

const finishPasswordLogins: PreparedQuery<ManyPasswordLogins, SessionRow & NumberedRow> = prepare(
  'finish_password_logins',
  (p) => sql`SELECT r.item, ${sessionColumns} FROM ${sql.table('finish_password_logins')}(${p.userIds},
    ${p.verifiedHashes}, ${p.newHashes}, ${p.providers}, ${p.tokenHashes}, ${p.userAgents}, ${p.ips}, ${p.audit}) AS r`,
)

/**
 * Opens sessions in one transaction, all or none when the call fails.
 * @returns a result for each, in their order; undefined where the user is gone or held by somebody else
 */
export async function callFinishPasswordLogins(
  lanes: Lanes,
  logins: readonly PasswordLogin[],
  rules: PasswordLoginRules,
): Promise<readonly (PasswordLoginResult | undefined)[]> {
  const many = {
    ...rules,
    userIds: logins.map(({ userId }) => userId),
    verifiedHashes: logins.map(({ verifiedHash }) => verifiedHash),
    newHashes: logins.map(({ newHash }) => newHash),
    providers: logins.map(({ provider }) => provider),
    tokenHashes: logins.map(({ tokenHash }) => tokenHash),
    userAgents: logins.map(({ userAgent }) => userAgent),
    ips: logins.map(({ ip }) => ip),
  }
  return orderResults(logins, await lanes.write.all(finishPasswordLogins, many), toPasswordLoginResult)
}

function toPasswordLoginResult(row: SessionRow): PasswordLoginResult {
  if (row.verdict === 'done') return { verdict: 'done', session: toStoredSession(row) }
  return {
    verdict: toVerdict(row.verdict, ['password-changed', 'user-banned', 'email-not-confirmed', 'phone-not-confirmed']),
  }
}

/** The rules that a refresh is judged by (reference: Validity of sessions). Null is no limit. */
export interface RefreshRules {
  readonly revokeFamily: boolean
  readonly reuseSeconds: number
  readonly timeboxSeconds: number | null
  readonly inactivitySeconds: number | null
  readonly lowAalSeconds: number | null
  readonly singlePerUser: boolean
  readonly audit: boolean
}

/** A token that comes to be exchanged. */
export interface RefreshRequest extends SessionOrigin {
  readonly tokenHash: Buffer
  readonly childHash: Buffer
}

export interface Refresh extends RefreshRequest, RefreshRules {}

const REFRESH_REFUSALS = [
  'token-not-found',
  'user-banned',
  'session-expired',
  'session-inactive',
  'session-low-aal',
  'session-superseded',
  'stolen',
] as const

export type RefreshRefusal = (typeof REFRESH_REFUSALS)[number] | 'busy'

export type RefreshResult =
  | { readonly verdict: 'rotated' | 'reused'; readonly session: StoredSession }
  | { readonly verdict: 'stolen'; readonly userId: string }
  | { readonly verdict: Exclude<RefreshRefusal, 'stolen'> }

interface RefreshRow extends SessionRow {
  readonly user_id: string
}

const refreshSession: PreparedQuery<Refresh, RefreshRow> = prepare(
  'refresh_session',
  (p) => sql`SELECT ${sessionColumns}, r.user_id FROM ${sql.table('refresh_session')}(${p.tokenHash}, ${p.childHash},
    ${p.userAgent}, ${p.ip}, ${p.revokeFamily}, ${p.reuseSeconds}, ${p.timeboxSeconds}, ${p.inactivitySeconds},
    ${p.lowAalSeconds}, ${p.singlePerUser}, ${p.audit}) AS r`,
)

/** Exchanges a refresh token for its child. `busy`: somebody held the session's lock for too long; nothing is written. */
export async function callRefreshSession(lanes: Lanes, input: Refresh): Promise<RefreshResult> {
  try {
    return toRefreshResult(await lanes.write.one(refreshSession, input))
  } catch (error) {
    if (isLockTimeout(error)) return { verdict: 'busy' }
    throw error
  }
}

interface RefreshMany extends RefreshRules {
  readonly tokenHashes: readonly Buffer[]
  readonly childHashes: readonly Buffer[]
  readonly userAgents: readonly (string | null)[]
  readonly ips: readonly string[]
}

const refreshSessions: PreparedQuery<RefreshMany, RefreshRow & NumberedRow> = prepare(
  'refresh_sessions',
  (p) => sql`SELECT r.item, ${sessionColumns}, r.user_id FROM ${sql.table('refresh_sessions')}(${p.tokenHashes},
    ${p.childHashes}, ${p.userAgents}, ${p.ips}, ${p.revokeFamily}, ${p.reuseSeconds}, ${p.timeboxSeconds},
    ${p.inactivitySeconds}, ${p.lowAalSeconds}, ${p.singlePerUser}, ${p.audit}) AS r`,
)

/**
 * Exchanges refresh tokens for their children in one transaction, one after the other, all or none when the call fails.
 * @returns a result for each, in their order; undefined where somebody else held the user or the session; `busy` for all when
 *   a lock that is not of theirs was not had (of a table, say)
 */
export async function callRefreshSessions(
  lanes: Lanes,
  requests: readonly RefreshRequest[],
  rules: RefreshRules,
): Promise<readonly (RefreshResult | undefined)[]> {
  const many = {
    ...rules,
    tokenHashes: requests.map(({ tokenHash }) => tokenHash),
    childHashes: requests.map(({ childHash }) => childHash),
    userAgents: requests.map(({ userAgent }) => userAgent),
    ips: requests.map(({ ip }) => ip),
  }
  try {
    return orderResults(requests, await lanes.write.all(refreshSessions, many), toRefreshResult)
  } catch (error) {
    if (isLockTimeout(error)) return requests.map(() => ({ verdict: 'busy' }))
    throw error
  }
}

function toRefreshResult(row: RefreshRow): RefreshResult {
  if (row.verdict === 'rotated' || row.verdict === 'reused') {
    return { verdict: row.verdict, session: toStoredSession(row) }
  }
  const verdict = toVerdict(row.verdict, REFRESH_REFUSALS)
  return verdict === 'stolen' ? { verdict, userId: row.user_id } : { verdict }
}

export type LogOutScope = 'global' | 'local' | 'others'

export interface LogOut {
  readonly userId: string
  /** Of the user; null: of any. */
  readonly audience: string | null
  /** Null for a token without the claim: it ends all sessions, whatever the scope. */
  readonly sessionId: string | null
  readonly scope: LogOutScope
  readonly liveSessionOnly: boolean
  readonly ip: string
  readonly audit: boolean
}

const LOG_OUT_VERDICTS = ['done', 'user-not-found', 'user-banned', 'session-not-found'] as const

const logOut: PreparedQuery<LogOut, { readonly verdict: string }> = prepare(
  'log_out',
  (p) => sql`SELECT CASE
      WHEN ${p.audience}::text IS NULL
        OR ${p.audience} = (SELECT u.aud FROM ${sql.table('users')} u WHERE u.id = ${p.userId})
      THEN ${sql.table('log_out')}(
        ${p.userId}, ${p.sessionId}, ${p.scope}, ${p.liveSessionOnly}, ${p.ip}, ${p.audit})
      ELSE 'user-not-found'
    END AS verdict`,
)

/** Ends sessions of a user, with their refresh tokens. */
export async function callLogOut(lanes: Lanes, input: LogOut): Promise<(typeof LOG_OUT_VERDICTS)[number]> {
  return toVerdict((await lanes.write.one(logOut, input)).verdict, LOG_OUT_VERDICTS)
}

/** Maps the row of a session that was opened or refreshed. */
export function toStoredSession(row: SessionRow): StoredSession {
  return {
    ...toProfileOfJson(row.profile),
    sessionId: row.session_id,
    aal: row.aal === 'aal2' ? 'aal2' : 'aal1',
    startedAt: row.started_at,
    amr: row.amr,
  }
}

/** A verdict that the database has sent, if it is one that this version of the service knows. */
export function toVerdict<const Verdict extends string>(text: string, known: readonly Verdict[]): Verdict {
  const verdict = known.find((candidate) => candidate === text)
  if (verdict === undefined) throw new Error(`the database answered "${text}"`)
  return verdict
}
