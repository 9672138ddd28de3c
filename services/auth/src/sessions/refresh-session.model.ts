import type { AssuranceLevel } from '../access-tokens/access-token.ts'

/** A refresh token of a session, in the order of their counters. Times are milliseconds of the database's clock. */
interface FamilyToken {
  readonly token: string
  readonly revoked: boolean
  /** When the token was revoked, otherwise created. */
  readonly updatedAt: number
}

/** All refresh tokens of a session, oldest first. */
export type TokenFamily = readonly FamilyToken[]

/** The settings for spent refresh tokens. */
interface RotationRules {
  /** SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: whether reuse revokes the family. */
  readonly revokeFamily: boolean
  /** SECURITY_REFRESH_TOKEN_REUSE_INTERVAL. */
  readonly reuseMs: number
}

/** The outcome of a refresh in the model, and the session's tokens afterwards. */
interface Rotation {
  /** `rotated`: a child was created. `reused`: the existing child is returned again. */
  readonly verdict: 'token-not-found' | 'rotated' | 'reused' | 'stolen'
  readonly family: TokenFamily
}

/** The model of rotation (reference: Refresh tokens). A property test compares it with `refresh_session`. */
export function rotate(
  family: TokenFamily,
  { token, child, now }: { readonly token: string; readonly child: string; readonly now: number },
  { revokeFamily, reuseMs }: RotationRules,
): Rotation {
  const index = family.findIndex((known) => known.token === token)
  const used = family[index]
  if (used === undefined) return { verdict: 'token-not-found', family }
  if (!used.revoked) {
    const parent = { ...used, revoked: true, updatedAt: now }
    return {
      verdict: 'rotated',
      family: [...family.with(index, parent), { token: child, revoked: false, updatedAt: now }],
    }
  }
  const newest = family.at(-1)
  if (newest !== undefined && !newest.revoked && index === family.length - 2 && now <= used.updatedAt + reuseMs) {
    return { verdict: 'reused', family: family.with(-1, { ...newest, token: child }) }
  }
  return { verdict: 'stolen', family: revokeFamily ? family.map((known) => revoke(known, now)) : family }
}

function revoke(token: FamilyToken, now: number): FamilyToken {
  return token.revoked ? token : { ...token, revoked: true, updatedAt: now }
}

/** The times that decide whether a session may be refreshed, in milliseconds of one clock. */
interface SessionTimes {
  readonly startedAt: number
  /** `null` until the first refresh. */
  readonly refreshedAt: number | null
  readonly notAfter: number | null
}

/** The limits of the settings SESSIONS_…. `null` means no limit. */
export interface ModelLimits {
  readonly timeboxMs: number | null
  readonly inactivityMs: number | null
  /** For a session that used only the first factor, of a user with a verified second factor. */
  readonly lowAalMs: number | null
  readonly singlePerUser: boolean
}

export interface SessionOfUser extends SessionTimes {
  readonly aal: AssuranceLevel
}

export interface OtherSession extends SessionOfUser {
  readonly isStolen: boolean
}

/** The user of a session and the current time in milliseconds since 1970. */
export interface SessionCircumstances {
  readonly hasVerifiedFactor: boolean
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
