import { createGroupCommit } from '@trestle/database/group-commit.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { isRefusedStatement } from '@trestle/database/unavailable.ts'
import type { AuthConfig } from '../config.ts'
import { serverBusy } from '../errors.ts'
import {
  callRefreshSession,
  callRefreshSessions,
  type RefreshRequest,
  type RefreshResult,
  type RefreshRules,
} from './session-repository.ts'

/** Refresh tokens of this process on their way to the database. */
export interface Refresher {
  /** Exchanges a token for its child. @throws 503, before anything is done, when it would wait for too long */
  refresh(request: RefreshRequest): Promise<RefreshResult>
}

/** How many share a transaction at most. */
const BATCH_MAX = 64

/**
 * Refreshes that arrive while others are under way go to the database together. One that arrives alone goes at once, in one
 * round trip. One whose user or session somebody else holds is sent once more, alone, and waits for its lock.
 */
export function createRefresher(lanes: Lanes, rules: RefreshRules): Refresher {
  const group = createGroupCommit<RefreshRequest, RefreshResult | undefined>({
    carryOut: (requests) => callRefreshSessions(lanes, requests, rules),
    isWorthRepeating: isRefusedStatement,
    sizeMax: BATCH_MAX,
    tooMany: serverBusy,
  })
  return {
    refresh: async (request) => (await group.add(request)) ?? callRefreshSession(lanes, { ...rules, ...request }),
  }
}

/** The rules that a configuration asks for. */
export function refreshRulesOf({ sessions, database }: Pick<AuthConfig, 'sessions' | 'database'>): RefreshRules {
  return {
    revokeFamily: sessions.revokeFamilyOnReuse,
    reuseSeconds: sessions.reuseIntervalMs / 1_000,
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
