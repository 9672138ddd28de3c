import type { KeyObject } from 'node:crypto'
import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import { sql } from 'kysely'
import type { RefreshConfig, RefreshResult } from './refresh-session.ts'
import { deriveChildToken, hashRefreshToken } from './refresh-token.ts'
import type { SessionOrigin } from './session.ts'
import { type SessionRow, sessionColumns, toStoredSession, toVerdict } from './session-repository.ts'

export interface ReuseDeps {
  readonly config: RefreshConfig
  readonly lanes: Lanes
  readonly refreshTokenKey: KeyObject
}

/** A spent refresh token, in the clear, and who sends it. */
export interface SpentToken extends SessionOrigin {
  readonly token: string
}

/** The verdict on the spent token, and the child, where its client gets one. */
export interface ReuseOutcome {
  readonly result: RefreshResult
  readonly child: string
}

/** The chain of a parent grows while it is asked for its number. Each loss of the race is another request that was answered. */
const TRIES_MAX = 20

/**
 * Judges a spent refresh token that `RefreshSession` has called stolen. The parent of the newest live token may be
 * exchanged again, and other ancestors within the interval (reference: Refresh tokens).
 */
export async function reuseRefreshToken(deps: ReuseDeps, spent: SpentToken): Promise<ReuseOutcome> {
  let number = 0
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const child = deriveChildToken(deps.refreshTokenKey, spent.token, number)
    const row = await callReuse(deps, { ...spent, childHash: hashRefreshToken(child), childNumber: number })
    if (row === undefined) break
    if (row.verdict !== 'renumber') return { result: toResult(row), child }
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

/** Undefined where the lock was not had in time. */
async function callReuse(
  { config: { sessions, behaviours, database }, lanes }: ReuseDeps,
  { token, ...spent }: SpentToken & Pick<ReuseParameters, 'childHash' | 'childNumber'>,
): Promise<ReuseRow | undefined> {
  try {
    return await lanes.write.one(reuseQuery, {
      ...spent,
      tokenHash: hashRefreshToken(token),
      branchOnAncestorReuse: behaviours.branchOnAncestorReuse,
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

function toResult(row: ReuseRow): RefreshResult {
  const verdict = toVerdict(row.verdict, VERDICTS)
  if (verdict === 'reused' || verdict === 'branched') return { verdict, session: toStoredSession(row) }
  return verdict === 'stolen' ? { verdict, userId: row.user_id } : { verdict }
}
