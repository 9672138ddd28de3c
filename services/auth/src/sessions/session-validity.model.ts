import type { AssuranceLevel } from '../access-tokens/access-token.ts'

/** The state that decides whether a session may be refreshed. Times are milliseconds of one clock. */
export interface SessionTimes {
  readonly startedAt: number
  /** Null until the first refresh. */
  readonly refreshedAt: number | null
  readonly notAfter: number | null
}

/** The limits of the settings SESSIONS_…; null is no limit. */
export interface ModelLimits {
  readonly timeboxMs: number | null
  readonly inactivityMs: number | null
  /** For a session of the first factor alone, of a user who has a verified second one. */
  readonly lowAalMs: number | null
  readonly singlePerUser: boolean
}

/** A session as a refresh judges it. */
export interface SessionOfUser extends SessionTimes {
  readonly aal: AssuranceLevel
}

/** Another session of the user than the refreshing one. */
export interface OtherSession extends SessionOfUser {
  readonly isStolen: boolean
}

/** The user around a session, at a time in milliseconds since 1970. */
export interface SessionCircumstances {
  readonly hasVerifiedFactor: boolean
  /** The user's other sessions. */
  readonly others: readonly OtherSession[]
  readonly now: number
}

/** Whether a session may be refreshed, or the first reason why not. */
export type SessionVerdict = 'valid' | 'session-expired' | 'session-inactive' | 'session-low-aal' | 'session-superseded'

/** The model of a session's validity (reference: Validity of sessions). A property test compares it with `refresh_session`. */
export function judgeSession(
  session: SessionOfUser,
  { hasVerifiedFactor, others, now }: SessionCircumstances,
  limits: ModelLimits,
): SessionVerdict {
  const judgeAlone = (judged: SessionOfUser) => {
    const isLow = judged.aal === 'aal1' && hasVerifiedFactor && isPast(judged.startedAt, limits.lowAalMs, now)
    const verdict = judgeTimes(judged, now, limits)
    return verdict === 'valid' && isLow ? 'session-low-aal' : verdict
  }
  const own = judgeAlone(session)
  if (own !== 'valid') return own
  const isSuperseded = others.some(
    (other) => lastUsed(other) > lastUsed(session) && !other.isStolen && judgeAlone(other) === 'valid',
  )
  return limits.singlePerUser && isSuperseded ? 'session-superseded' : 'valid'
}

function judgeTimes(session: SessionTimes, now: number, limits: ModelLimits) {
  const { startedAt, notAfter } = session
  if ((notAfter !== null && notAfter < now) || isPast(startedAt, limits.timeboxMs, now)) return 'session-expired'
  return isPast(lastUsed(session), limits.inactivityMs, now) ? 'session-inactive' : 'valid'
}

function lastUsed({ startedAt, refreshedAt }: SessionTimes): number {
  return refreshedAt ?? startedAt
}

function isPast(since: number, limitMs: number | null, now: number): boolean {
  return limitMs !== null && since + limitMs < now
}
