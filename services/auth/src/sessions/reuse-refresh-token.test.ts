import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { lenientRules } from '../../test/refresh-rules.ts'
import { insertUser } from '../users/user-change-repository.ts'
import { createSession } from './create-session.ts'
import { reuseRefreshToken, updateSession } from './refresh-session.ts'
import { deriveChildToken, deriveRefreshTokenKey, hashRefreshToken } from './session.ts'

const refreshTokenKey = deriveRefreshTokenKey('a secret')
const origin = { userAgent: 'test', ip: '192.0.2.1' }
let database: TestDatabase
let count = 0

beforeAll(async () => {
  database = await openTestDatabase('app')
})
afterAll(() => database.drop())

async function signIn() {
  const email = `user${++count}@example.com`
  const user = await insertUser(database.db, { aud: 'authenticated', role: 'authenticated', email })
  const opened = { ...origin, method: 'password', credentialSince: null } as const
  const { sessionId, refreshToken } = await createSession(database.db, { randomBytes }, user, opened)
  return { userId: user.id, sessionId, token: refreshToken }
}

/** Exchanges a live token for a child, which the service need not have derived. */
async function exchange(token: string, child = deriveChildToken(refreshTokenKey, token)): Promise<string> {
  const hashes = { tokenHash: hashRefreshToken(token), childHash: hashRefreshToken(child) }
  const { verdict } = await updateSession(database.pools, { ...origin, ...lenientRules, ...hashes })
  expect(verdict).toBe('rotated')
  return child
}

async function reuse(token: string, sessions = {}) {
  const config = {
    sessions: {
      revokeFamilyOnReuse: true,
      reuseIntervalMs: 0,
      timeboxMs: undefined,
      inactivityTimeoutMs: undefined,
      lowAalMs: undefined,
      singlePerUser: false,
      ...sessions,
    },
    database: { auditInPostgres: true },
    compatibility: { acceptSpentParentUntilChildIsUsed: true, branchOnAncestorReuse: true },
  }
  const { result, child } = await reuseRefreshToken(
    { config, pools: database.pools, refreshTokenKey },
    { ...origin, token },
  )
  return { verdict: result.verdict, child }
}

/** The largest counter of the session, read as text because a number may not hold it exactly. */
const lastCounter = async (sessionId: string) => {
  const { rows } = await sql<{ last: string }>`SELECT max(counter)::text AS last FROM ${sql.table('refresh_tokens')}
    WHERE session_id = ${sessionId}`.execute(database.db)
  return BigInt(rows[0]?.last ?? 0)
}

const liveTokens = async (sessionId: string) => {
  const { rows } = await sql<{ live: number }>`SELECT count(*)::int AS live FROM ${sql.table('refresh_tokens')}
    WHERE session_id = ${sessionId} AND NOT revoked`.execute(database.db)
  return rows[0]?.live
}

it('adds a second child where the service has not derived the first, and returns the added child again', async () => {
  const { token, sessionId } = await signIn()
  const imported = await exchange(token, 'imported-child')
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => reuse(token)))
  const { child } = await reuse(token)
  expect(outcomes.map(({ verdict }) => verdict).sort()).toEqual(['branched', ...Array(7).fill('reused')])
  expect(new Set(outcomes.map((outcome) => outcome.child))).toEqual(new Set([child]))
  expect(await liveTokens(sessionId)).toBe(2)
  await exchange(await exchange(imported))
  await exchange(child)
})

it('revokes all live tokens for an ancestor after the interval, and none where rotation is off', async () => {
  const { token, sessionId } = await signIn()
  const newest = await exchange(await exchange(token))
  expect((await reuse(token, { revokeFamilyOnReuse: false })).verdict).toBe('stolen')
  expect(await liveTokens(sessionId)).toBe(1)
  const branch = await reuse(token, { reuseIntervalMs: 60_000 })
  expect([branch.verdict, await liveTokens(sessionId)]).toEqual(['branched', 2])
  await exchange(newest)
  await exchange(branch.child)
  expect((await reuse(token)).verdict).toBe('stolen')
  expect(await liveTokens(sessionId)).toBe(0)
})

it('leaves a billion refreshes of room before the chain of a branch', async () => {
  const { token, sessionId } = await signIn()
  const newest = await exchange(await exchange(token))
  const before = await lastCounter(sessionId)
  await reuse(token, { reuseIntervalMs: 60_000 })
  expect((await lastCounter(sessionId)) - before).toBe(1_000_000_000n)
  await exchange(newest)
})

it('counts as theft under the rules of replays when the derived child is spent and a branch has the newest token', async () => {
  const { token } = await signIn()
  const child = await exchange(token)
  await exchange(child)
  expect((await reuse(token, { reuseIntervalMs: 60_000 })).verdict).toBe('branched')
  const hashes = { tokenHash: hashRefreshToken(token), childHash: hashRefreshToken(child) }
  const rules = { ...origin, ...lenientRules, ...hashes, reuseSeconds: 60 }
  expect((await updateSession(database.pools, rules)).verdict).toBe('stolen')
})

it('finds no token of a user whom SQL has deleted softly', async () => {
  const { token, userId } = await signIn()
  await exchange(token)
  await database.db.updateTable('users').set({ deleted_at: new Date() }).where('id', '=', userId).execute()
  expect((await reuse(token)).verdict).toBe('token-not-found')
})

it('refuses a banned user, and a token whose session has ended meanwhile', async () => {
  const { token, userId, sessionId } = await signIn()
  await exchange(token)
  await database.db.updateTable('users').set({ banned_until: '2999-01-01' }).where('id', '=', userId).execute()
  expect((await reuse(token)).verdict).toBe('user-banned')
  await database.db.deleteFrom('sessions').where('id', '=', sessionId).execute()
  expect((await reuse(token)).verdict).toBe('token-not-found')
})
