import type { Lanes } from '@trestle/database/lanes.ts'
import type { AuthConfig } from '../config.ts'
import { goTogether } from '../go-together.ts'
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

/** Refreshes go together: see `goTogether`. */
export function createRefresher(lanes: Lanes, rules: RefreshRules): Refresher {
  return {
    refresh: goTogether<RefreshRequest, RefreshResult>({
      many: (requests) => callRefreshSessions(lanes, requests, rules),
      alone: (request) => callRefreshSession(lanes, { ...rules, ...request }),
    }),
  }
}

/** The rules that a configuration asks for. */
export function refreshRulesOf({ sessions, database }: Pick<AuthConfig, 'sessions' | 'database'>): RefreshRules {
  return {
    revokeFamily: sessions.revokeFamilyOnReuse,
    // Without rotation no spent token is exchanged again (reference: Refresh tokens).
    reuseSeconds: sessions.revokeFamilyOnReuse ? sessions.reuseIntervalMs / 1_000 : 0,
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
