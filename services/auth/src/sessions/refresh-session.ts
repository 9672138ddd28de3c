import type { KeyObject } from 'node:crypto'
import type { Counter, Meter } from '@opentelemetry/api'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import { columns, type NumberedRow, orderResults } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import { sql } from 'kysely'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import { batchCalls } from './batch-calls.ts'
import { deriveChildToken, hashRefreshToken, type SessionOrigin, type StoredSession } from './session.ts'
import { type SessionRow, sessionColumns, toStoredSession, toVerdict } from './session-repository.ts'

interface RefreshRequest extends SessionOrigin {
  readonly tokenHash: Buffer
  readonly childHash: Buffer
}

/** The settings for a refresh (reference: Validity of sessions). `null` means no limit. */
export interface RefreshRules {
  readonly revokeFamily: boolean
  readonly reuseSeconds: number
  readonly timeboxSeconds: number | null
  readonly inactivitySeconds: number | null
  readonly lowAalSeconds: number | null
  readonly singlePerUser: boolean
  readonly audit: boolean
}

interface RefreshConfig {
  readonly sessions: {
    readonly revokeFamilyOnReuse: boolean
    readonly reuseIntervalMs: number
    readonly timeboxMs: number | undefined
    readonly inactivityTimeoutMs: number | undefined
    readonly lowAalMs: number | undefined
    readonly singlePerUser: boolean
  }
  readonly database: { readonly auditInPostgres: boolean }
  readonly compatibility: Pick<CompatibilityOptions, 'acceptSpentParentUntilChildIsUsed' | 'branchOnAncestorReuse'>
}

/** The rules of a refresh in the units of the SQL function: seconds, and `null` for no limit. */
export function toRefreshRules({ sessions, database, compatibility }: RefreshConfig): RefreshRules {
  // Otherwise `reuseRefreshToken` handles spent tokens. The refresh itself then refuses them and revokes nothing.
  const judgesReuse = !compatibility.acceptSpentParentUntilChildIsUsed
  return {
    revokeFamily: sessions.revokeFamilyOnReuse && judgesReuse,
    // Without rotation, a spent token is never exchanged again (reference: Refresh tokens).
    reuseSeconds: sessions.revokeFamilyOnReuse && judgesReuse ? sessions.reuseIntervalMs / 1_000 : 0,
    timeboxSeconds: toSeconds(sessions.timeboxMs),
    inactivitySeconds: toSeconds(sessions.inactivityTimeoutMs),
    lowAalSeconds: toSeconds(sessions.lowAalMs),
    singlePerUser: sessions.singlePerUser,
    audit: database.auditInPostgres,
  }
}

function toSeconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1_000
}

const REFUSALS = [
  'token-not-found',
  'user-banned',
  'session-expired',
  'session-inactive',
  'session-low-aal',
  'client-required',
  'session-superseded',
  'stolen',
] as const

/** `busy`: another transaction held the session's lock for too long, and nothing was written. */
export type RefreshRefusal = (typeof REFUSALS)[number] | 'busy'

/**
 * The outcome of a refresh. `reused`: the existing child is returned again. `branched`: a spent token has got another child.
 * `stolen`: all tokens of the session are revoked, unless rotation is off.
 */
export type RefreshResult =
  | { readonly verdict: 'rotated' | 'reused' | 'branched'; readonly session: StoredSession }
  | { readonly verdict: 'stolen'; readonly userId: string }
  | { readonly verdict: Exclude<RefreshRefusal, 'stolen'> }

/** Exchanges a refresh token for its child. @throws serverBusy, before anything is written, if it would wait too long */
export type RefreshSession = (request: RefreshRequest) => Promise<RefreshResult>

/** Sends refreshes of a process to the database together (see `batchCalls`). */
export function batchRefreshes(pools: Pools, rules: RefreshRules): RefreshSession {
  return batchCalls<RefreshRequest, RefreshResult>({
    many: (requests) => updateSessions(pools, requests, rules),
    alone: (request) => updateSession(pools, { ...rules, ...request }),
  })
}

interface RefreshRow extends SessionRow {
  readonly user_id: string
}

const refreshSession: PreparedQuery<RefreshRequest & RefreshRules, RefreshRow> = prepare(
  'refresh_session',
  (p) => sql`SELECT ${sessionColumns}, r.user_id FROM ${sql.table('refresh_session')}(${p.tokenHash}, ${p.childHash},
    ${p.userAgent}, ${p.ip}, ${p.revokeFamily}, ${p.reuseSeconds}, ${p.timeboxSeconds}, ${p.inactivitySeconds},
    ${p.lowAalSeconds}, ${p.singlePerUser}, ${p.audit}) AS r`,
)

/** Exchanges one refresh token for its child. Waits for the session's lock. */
export async function updateSession(pools: Pools, input: RefreshRequest & RefreshRules): Promise<RefreshResult> {
  try {
    return toResult(await pools.write.one(refreshSession, input))
  } catch (error) {
    if (isLockTimeout(error)) return { verdict: 'busy' }
    throw error
  }
}

interface RefreshRequests extends RefreshRules {
  readonly requests: readonly RefreshRequest[]
}

const refreshSessions: PreparedQuery<RefreshRequests, RefreshRow & NumberedRow> = prepare(
  'refresh_sessions',
  (p) => sql`SELECT r.item, ${sessionColumns}, r.user_id FROM ${sql.table('refresh_sessions')}(${columns(p.requests, {
    tokenHash: 'bytea',
    childHash: 'bytea',
    userAgent: 'text',
    ip: 'text',
  })}, ${p.revokeFamily}, ${p.reuseSeconds}, ${p.timeboxSeconds}, ${p.inactivitySeconds}, ${p.lowAalSeconds},
    ${p.singlePerUser}, ${p.audit}) AS r`,
)

/**
 * Exchanges refresh tokens for their children in one transaction, one after the other, or none if it throws.
 * @returns a result per token in the same order; `undefined` if another transaction had locked the user or the session; `busy`
 * for all if another lock, such as a table's, was not granted in time
 */
async function updateSessions(
  pools: Pools,
  requests: readonly RefreshRequest[],
  rules: RefreshRules,
): Promise<readonly (RefreshResult | undefined)[]> {
  try {
    return orderResults(requests, await pools.write.all(refreshSessions, { ...rules, requests }), toResult)
  } catch (error) {
    if (isLockTimeout(error)) return requests.map(() => ({ verdict: 'busy' }))
    throw error
  }
}

function toResult(row: RefreshRow): RefreshResult {
  if (row.verdict === 'rotated' || row.verdict === 'reused') {
    return { verdict: row.verdict, session: toStoredSession(row) }
  }
  const verdict = toVerdict(row.verdict, REFUSALS)
  return verdict === 'stolen' ? { verdict, userId: row.user_id } : { verdict }
}

/** Creates a counter of reused refresh tokens: `allowed` within the reuse interval, `revoked` as stolen. */
export function createTokenReuseCounter(meter: Meter): Counter {
  const counter = meter.createCounter('auth_refresh_token_reuse_total', {
    description: 'Refresh tokens that were used again',
  })
  return startAtZero(counter, [{ outcome: 'allowed' }, { outcome: 'revoked' }])
}

export interface ReuseDeps {
  readonly config: RefreshConfig
  readonly pools: Pools
  readonly refreshTokenKey: KeyObject
}

/** A spent refresh token in clear, and its sender. */
interface SpentToken extends SessionOrigin {
  readonly token: string
}

/** The result for the spent token, and the child that its client gets, if any. */
export interface ReuseOutcome {
  readonly result: RefreshResult
  readonly child: string
}

/** The chain of a parent may grow while the service reads its number. Each such race means that another request succeeded. */
const TRIES_MAX = 20

/**
 * Handles a spent refresh token that `RefreshSession` has reported as stolen. The parent of the newest live token may be
 * exchanged again, and so may other ancestors within the interval (reference: Refresh tokens).
 */
export async function reuseRefreshToken(deps: ReuseDeps, spent: SpentToken): Promise<ReuseOutcome> {
  let number = 0
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const child = deriveChildToken(deps.refreshTokenKey, spent.token, number)
    const row = await callReuse(deps, { ...spent, childHash: hashRefreshToken(child), childNumber: number })
    if (row === undefined) break
    if (row.verdict !== 'renumber') return { result: toReuseResult(row), child }
    number = row.child_number
  }
  return { result: { verdict: 'busy' }, child: '' }
}

interface ReuseParameters extends SessionOrigin {
  readonly tokenHash: Buffer
  readonly childHash: Buffer
  readonly childNumber: number
  readonly branchOnAncestorReuse: boolean
  readonly revokeFamily: boolean
  readonly reuseSeconds: number
  readonly audit: boolean
}

interface ReuseRow extends SessionRow {
  readonly user_id: string
  readonly child_number: number
}

const reuseQuery: PreparedQuery<ReuseParameters, ReuseRow> = prepare(
  'reuse_refresh_token',
  (p) => sql`SELECT ${sessionColumns}, r.user_id, r.child_number FROM ${sql.table('reuse_refresh_token')}(
    ${p.tokenHash}, ${p.childHash}, ${p.childNumber}, ${p.userAgent}, ${p.ip}, ${p.branchOnAncestorReuse},
    ${p.revokeFamily}, ${p.reuseSeconds}, ${p.audit}) AS r`,
)

/** Returns `undefined` if the lock was not granted in time. */
async function callReuse(
  { config: { sessions, compatibility, database }, pools }: ReuseDeps,
  { token, ...spent }: SpentToken & Pick<ReuseParameters, 'childHash' | 'childNumber'>,
): Promise<ReuseRow | undefined> {
  try {
    return await pools.write.one(reuseQuery, {
      ...spent,
      tokenHash: hashRefreshToken(token),
      branchOnAncestorReuse: compatibility.branchOnAncestorReuse,
      revokeFamily: sessions.revokeFamilyOnReuse,
      reuseSeconds: sessions.reuseIntervalMs / 1_000,
      audit: database.auditInPostgres,
    })
  } catch (error) {
    if (isLockTimeout(error)) return undefined
    throw error
  }
}

const VERDICTS = ['reused', 'branched', 'stolen', 'token-not-found', 'user-banned', 'client-required'] as const

function toReuseResult(row: ReuseRow): RefreshResult {
  const verdict = toVerdict(row.verdict, VERDICTS)
  if (verdict === 'reused' || verdict === 'branched') return { verdict, session: toStoredSession(row) }
  return verdict === 'stolen' ? { verdict, userId: row.user_id } : { verdict }
}
