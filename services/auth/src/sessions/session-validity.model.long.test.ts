import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { factorRow } from '../../test/factor-row.ts'
import { insertUser } from '../users/user-change-repository.ts'
import { createSession } from './create-session.ts'
import {
  judgeSession,
  type ModelLimits,
  type OtherSession,
  type SessionCircumstances,
  type SessionOfUser,
  type SessionVerdict,
} from './refresh-session.model.ts'
import { type RefreshRules, updateSession } from './refresh-session.ts'
import { deriveChildToken, deriveRefreshTokenKey, hashRefreshToken } from './session.ts'
import { deleteSessionsInScope } from './session-repository.ts'

let database: TestDatabase
let count = 0
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.drop())

const key = deriveRefreshTokenKey('a secret')
const origin = { userAgent: 'test', ip: '192.0.2.1' }
const noLimits: ModelLimits = { timeboxMs: null, inactivityMs: null, lowAalMs: null, singlePerUser: false }

async function createUser() {
  const user = { aud: 'authenticated', role: 'authenticated', email: `user${++count}@example.com` }
  const { id } = await insertUser(database.db, user)
  const open = () =>
    createSession(database.db, { randomBytes }, { id }, { ...origin, method: 'password', credentialSince: null })
  return { id, open }
}

function refresh(token: string, { singlePerUser, ...limits }: ModelLimits) {
  const seconds = (ms: number | null) => (ms === null ? null : ms / 1_000)
  const rules: RefreshRules = {
    revokeFamily: true,
    reuseSeconds: 10,
    timeboxSeconds: seconds(limits.timeboxMs),
    inactivitySeconds: seconds(limits.inactivityMs),
    lowAalSeconds: seconds(limits.lowAalMs),
    singlePerUser,
    audit: true,
  }
  const [tokenHash, childHash] = [hashRefreshToken(token), hashRefreshToken(deriveChildToken(key, token))]
  return updateSession(database.pools, { ...origin, ...rules, tokenHash, childHash })
}

const MINUTE_MS = 60_000
/** Ages are whole minutes and limits are half minutes. So they never become equal, however long a step takes. */
const age = fc.integer({ min: 1, max: 8 }).map((minutes) => minutes * MINUTE_MS)
const limit = fc.option(fc.integer({ min: 1, max: 8 }).map((minutes) => (minutes + 0.5) * MINUTE_MS))
const session = fc.record({
  startedAgo: age,
  refreshedAgo: fc.option(age),
  endsIn: fc.option(fc.constantFrom(-MINUTE_MS, MINUTE_MS)),
  aal: fc.constantFrom('aal1', 'aal2'),
  isStolen: fc.boolean(),
})

/** Creates the user's sessions. The first session refreshes. Times are milliseconds since 1970. */
async function open(sessions: readonly OtherSession[], hasVerifiedFactor: boolean) {
  const user = await createUser()
  if (hasVerifiedFactor) {
    const factor = { user_id: user.id, factor_type: 'totp', status: 'verified' }
    await database.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
  }
  const at = (ms: number | null) => (ms === null ? null : new Date(ms))
  const tokens: string[] = []
  for (const { startedAt, refreshedAt, notAfter, aal, isStolen } of sessions) {
    const { sessionId, refreshToken } = await user.open()
    tokens.push(refreshToken)
    const refreshed = at(refreshedAt)?.toISOString() ?? null
    const times = { created_at: new Date(startedAt), refreshed_at: refreshed, not_after: at(notAfter) }
    const changed = database.db.updateTable('sessions').set({ ...times, aal })
    await changed.where('id', '=', sessionId).execute()
    const revoked = database.db.updateTable('refresh_tokens').set({ revoked: isStolen })
    await revoked.where('session_id', '=', sessionId).execute()
  }
  return tokens[0] ?? ''
}

async function decide(sessions: readonly OtherSession[], hasVerifiedFactor: boolean, limits: ModelLimits) {
  const { verdict } = await refresh(await open(sessions, hasVerifiedFactor), limits)
  return verdict === 'rotated' ? 'valid' : verdict
}

describe('judgeSession', () => {
  const now = 10 * MINUTE_MS
  const start: OtherSession = { startedAt: 0, refreshedAt: null, notAfter: null, aal: 'aal1', isStolen: false }
  const around: SessionCircumstances = { hasVerifiedFactor: false, others: [], now }
  const alone = { ...noLimits, singlePerUser: true }
  const beside = (...others: readonly OtherSession[]) => ({ ...around, others })
  type Case = [string, SessionOfUser, SessionCircumstances, ModelLimits, SessionVerdict]
  const refreshed = { ...start, refreshedAt: 1 }

  /** The cases that hold only at one point in time. */
  const lastMoments: Case[] = [
    ['the last moment of its time', start, around, { ...noLimits, timeboxMs: now }, 'valid'],
    ['the last moment before its own end', { ...start, notAfter: now }, around, noLimits, 'valid'],
    ['a refresh meanwhile', refreshed, around, { ...noLimits, inactivityMs: now - 1 }, 'valid'],
  ]
  /** The cases that still hold when the database decides shortly afterwards. */
  const cases: Case[] = [
    ['no limit', start, around, noLimits, 'valid'],
    ['the first moment after its time', start, around, { ...noLimits, timeboxMs: now - 1 }, 'session-expired'],
    ['the first moment after its own end', { ...start, notAfter: now - 1 }, around, noLimits, 'session-expired'],
    ['no refresh since its start', start, around, { ...noLimits, inactivityMs: now - 1 }, 'session-inactive'],
    ['aal1 and no factor', start, around, { ...noLimits, lowAalMs: 1 }, 'valid'],
    [
      'aal1 and a verified factor',
      start,
      { ...around, hasVerifiedFactor: true },
      { ...noLimits, lowAalMs: 1 },
      'session-low-aal',
    ],
    [
      'aal2 and a verified factor',
      { ...start, aal: 'aal2' },
      { ...around, hasVerifiedFactor: true },
      { ...noLimits, lowAalMs: 1 },
      'valid',
    ],
    ['a newer session beside it', start, beside({ ...start, startedAt: 1 }), alone, 'session-superseded'],
    [
      'a newer session beside it that has ended',
      start,
      beside({ ...start, startedAt: 1, notAfter: 2 }),
      alone,
      'valid',
    ],
    [
      'a newer session beside it that was revoked as stolen',
      start,
      beside({ ...start, startedAt: 1, isStolen: true }),
      alone,
      'valid',
    ],
    [
      'a newer session beside it that lacks the second factor for too long',
      { ...start, aal: 'aal2' },
      { ...beside({ ...start, startedAt: 1 }), hasVerifiedFactor: true },
      { ...alone, lowAalMs: 1 },
      'valid',
    ],
    [
      'a newer session beside it that has shown the second factor',
      { ...start, aal: 'aal2' },
      { ...beside({ ...start, startedAt: 1, aal: 'aal2' }), hasVerifiedFactor: true },
      { ...alone, lowAalMs: 1 },
      'session-superseded',
    ],
    ['another session of the same moment', start, beside(start), alone, 'valid'],
    ['another session refreshed at the same moment', refreshed, beside(refreshed), alone, 'valid'],
    [
      'another session refreshed a moment later',
      refreshed,
      beside({ ...start, refreshedAt: 2 }),
      alone,
      'session-superseded',
    ],
    ['another session that began when it was refreshed', refreshed, beside({ ...start, startedAt: 1 }), alone, 'valid'],
  ]

  it.each([...lastMoments, ...cases])('judges a session with %s', (...[, given, circumstances, limits, verdict]) => {
    expect(judgeSession(given, circumstances, limits)).toBe(verdict)
  })

  it.each(cases)(
    'decides as refresh_session does: %s',
    async (...[, given, { others, hasVerifiedFactor }, limits, verdict]) => {
      const began = Date.now() - now
      const sessions = [{ ...given, isStolen: false }, ...others].map((session) => ({
        aal: session.aal,
        isStolen: session.isStolen,
        startedAt: began + session.startedAt,
        refreshedAt: session.refreshedAt === null ? null : began + session.refreshedAt,
        notAfter: session.notAfter === null ? null : began + session.notAfter,
      }))
      expect(await decide(sessions, hasVerifiedFactor, limits)).toBe(verdict)
    },
  )

  it('decides as refresh_session does, whatever the sessions', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(session, { minLength: 1, maxLength: 3 }),
        fc.record({ timeboxMs: limit, inactivityMs: limit, lowAalMs: limit, singlePerUser: fc.boolean() }),
        fc.boolean(),
        async (sessions, limits, hasVerifiedFactor) => {
          const now = Date.now()
          const states = sessions.map(({ startedAgo, refreshedAgo, endsIn, aal, isStolen }, order) => ({
            // No two sessions are used in the same millisecond.
            startedAt: now - startedAgo + order,
            refreshedAt: refreshedAgo === null ? null : now - refreshedAgo + order,
            notAfter: endsIn === null ? null : now + endsIn,
            aal,
            isStolen: isStolen && order > 0,
          }))
          const [first, ...others] = states
          if (!first) return
          const expected = judgeSession(first, { hasVerifiedFactor, others, now }, limits)
          expect(await decide(states, hasVerifiedFactor, limits)).toBe(expected)
        },
      ),
      { numRuns: 150 },
    )
  })
})

describe('refresh_session beside other requests', () => {
  it('refreshes exactly one of two sessions when a user may have one', async () => {
    const limits = { ...noLimits, singlePerUser: true }
    for (let round = 0; round < 10; round += 1) {
      const user = await createUser()
      const tokens = [await user.open(), await user.open()].map(({ refreshToken }) => refreshToken)
      // Only the newer session may refresh, in either order.
      const results = await Promise.all(tokens.map((token) => refresh(token, limits)))
      expect(results.map(({ verdict }) => verdict)).toEqual(['session-superseded', 'rotated'])
    }
  })

  it('gives parallel refreshes of one token the same next token, up to the end of the session', async () => {
    const user = await createUser()
    const { sessionId, refreshToken } = await user.open()
    const limits = { ...noLimits, timeboxMs: 60_000, inactivityMs: 60_000, singlePerUser: true }
    const many = () => Promise.all(Array.from({ length: 20 }, () => refresh(refreshToken, limits)))
    expect((await many()).map(({ verdict }) => verdict).sort()).toEqual([...Array(19).fill('reused'), 'rotated'])
    const past = new Date(Date.now() - 61_000)
    await database.db.updateTable('sessions').set({ created_at: past }).where('id', '=', sessionId).execute()
    expect(new Set((await many()).map(({ verdict }) => verdict))).toEqual(new Set(['session-expired']))
    const tokens = database.db.selectFrom('refresh_tokens').select('id').where('session_id', '=', sessionId)
    // A refusal because of age is not a theft, so the session is unchanged.
    expect(await tokens.where('revoked', '=', false).execute()).toHaveLength(1)
  })

  it('either refreshes or finds nothing when the user signs out at the same moment', async () => {
    for (let round = 0; round < 20; round += 1) {
      const user = await createUser()
      const { sessionId, refreshToken } = await user.open()
      const out = {
        userId: user.id,
        audience: null,
        sessionId,
        scope: 'global',
        liveSessionOnly: false,
        ip: '',
        audit: true,
      } as const
      const [first, ended] = await Promise.all([
        refresh(refreshToken, noLimits),
        deleteSessionsInScope(database.pools, out),
      ])
      expect(ended).toBe('done')
      expect(['rotated', 'token-not-found']).toContain(first.verdict)
      expect((await refresh(deriveChildToken(key, refreshToken), noLimits)).verdict).toBe('token-not-found')
    }
  })
})
