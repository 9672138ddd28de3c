import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { type CountedPools, countPools } from '../../test/counted-pools.ts'
import { lenientRules } from '../../test/refresh-rules.ts'
import { insertUser } from '../users/user-change-repository.ts'
import { createSession } from './create-session.ts'
import { batchRefreshes, type RefreshResult, type RefreshSession } from './refresh-session.ts'
import { deriveChildToken, deriveRefreshTokenKey, hashRefreshToken } from './session.ts'

const key = deriveRefreshTokenKey('a secret')
let database: TestDatabase
let refreshSession: RefreshSession
let batches: CountedPools['batches']
let count = 0

// This namespace gives the functions their longest possible names.
beforeAll(async () => {
  database = await openTestDatabase('app')
  const counted = countPools(database.pools)
  batches = counted.batches
  refreshSession = batchRefreshes(counted.pools, lenientRules)
})
afterAll(() => database.drop())
beforeEach(() => {
  batches.length = 0
})

async function signIn() {
  const { id } = await insertUser(database.db, {
    aud: 'authenticated',
    role: 'authenticated',
    email: `user${++count}@example.com`,
  })
  const method = { userAgent: 'before', ip: '192.0.2.1', method: 'password', credentialSince: null } as const
  const { sessionId, refreshToken } = await createSession(database.db, { randomBytes }, { id }, method)
  return { userId: id, sessionId, token: refreshToken }
}

const signInMany = (many: number) => Promise.all(Array.from({ length: many }, signIn))
const refresh = (token: string, userAgent: string | null = 'test', ip = '192.0.2.2') =>
  refreshSession({
    userAgent,
    ip,
    tokenHash: hashRefreshToken(token),
    childHash: hashRefreshToken(deriveChildToken(key, token)),
  })
const verdicts = (results: readonly RefreshResult[]) => results.map(({ verdict }) => verdict)
const tokensOf = (sessionId: string) =>
  database.db
    .selectFrom('refresh_tokens')
    .select(['token_hash', 'counter', 'revoked'])
    .where('session_id', '=', sessionId)
    .orderBy('counter')
    .execute()

describe('batchRefreshes', () => {
  it('exchanges tokens that arrive together in few calls, each for its own session', async () => {
    const people = await signInMany(50)
    const agents = people.map((_, index) => (index === 7 ? null : `agent, "${index}" \\ {}`))
    const results = await Promise.all(
      people.map(({ token }, index) => refresh(token, agents[index], `10.0.0.${index}`)),
    )
    expect(batches).toEqual([50])
    expect(results.map((result) => 'session' in result && [result.session.user.id, result.session.sessionId])).toEqual(
      people.map(({ userId, sessionId }) => [userId, sessionId]),
    )
    const sessions = await database.db.selectFrom('sessions').select(['id', 'user_agent', 'last_ip']).execute()
    const byId = new Map(sessions.map((session) => [session.id, session]))
    expect(people.map(({ sessionId }) => byId.get(sessionId))).toEqual(
      people.map(({ sessionId: id }, index) => ({ id, user_agent: agents[index], last_ip: `10.0.0.${index}` })),
    )
  })

  it('exchanges a token that arrives alone at once, in one call', async () => {
    const { token } = await signIn()
    expect((await refresh(token)).verdict).toBe('rotated')
    expect(batches).toEqual([1])
  })

  it('gives a token that arrives many times one child', async () => {
    const [one, other] = [await signIn(), await signIn()]
    const tokens = [...Array<string>(40).fill(one.token), other.token]
    const results = await Promise.all(tokens.map((token) => refresh(token)))
    expect(batches).toEqual([41])
    expect(verdicts(results).sort()).toEqual([...Array(39).fill('reused'), 'rotated', 'rotated'])
    expect(await tokensOf(one.sessionId)).toEqual([
      { token_hash: hashRefreshToken(one.token), counter: 0n, revoked: true },
      { token_hash: hashRefreshToken(deriveChildToken(key, one.token)), counter: 1n, revoked: false },
    ])
  })

  it('refuses one token of a batch, and exchanges the others', async () => {
    const [honest, banned, robbed, last] = await signInMany(4)
    if (!honest || !banned || !robbed || !last) throw new Error('nobody')
    const ban = { banned_until: new Date('2999-01-01') }
    await database.db.updateTable('users').set(ban).where('id', '=', banned.userId).execute()
    const child = deriveChildToken(key, robbed.token)
    for (const token of [robbed.token, child]) await refresh(token)
    batches.length = 0
    const tokens = [honest.token, 'unknown_token', banned.token, robbed.token, last.token]
    const results = await Promise.all(tokens.map((token) => refresh(token)))
    expect(batches).toEqual([5])
    expect(verdicts(results)).toEqual(['rotated', 'token-not-found', 'user-banned', 'stolen', 'rotated'])
    expect(results[3]).toEqual({ verdict: 'stolen', userId: robbed.userId })
    expect((await tokensOf(robbed.sessionId)).map(({ revoked }) => revoked)).toEqual([true, true, true])
    expect((await refresh(deriveChildToken(key, child))).verdict).toBe('stolen')
  })

  it.each(['users', 'sessions'] as const)(
    'delays no other token for a row of %s that another transaction has locked',
    async (table) => {
      const [held, ...others] = await signInMany(4)
      if (!held) throw new Error('nobody')
      const id = table === 'users' ? held.userId : held.sessionId
      batches.length = 0
      const { waiting } = await database.db.transaction().execute(async (trx) => {
        await sql`SELECT FROM ${sql.table(table)} WHERE id = ${id} FOR UPDATE`.execute(trx)
        let isDone = false
        const late = refresh(held.token).then((result) => {
          isDone = true
          return result
        })
        expect(verdicts(await Promise.all(others.map(({ token }) => refresh(token))))).toEqual(Array(3).fill('rotated'))
        expect(verdicts(await Promise.all(others.map(({ token }) => refresh(token))))).toEqual(Array(3).fill('reused'))
        expect(isDone).toBe(false)
        return { waiting: late }
      })
      expect((await waiting).verdict).toBe('rotated')
      expect(batches).toEqual([4, 'alone', 3])
    },
  )

  it('returns busy for every token, without a second attempt, after a lock timeout of a table', async () => {
    const people = await signInMany(2)
    const all = vi.fn(async () => {
      await sql`DO $$ BEGIN RAISE EXCEPTION 'not had' USING ERRCODE = '55P03'; END $$`.execute(database.db)
      return []
    })
    const { write } = database.pools
    const refreshLocked = batchRefreshes({ ...database.pools, write: { ...write, all } }, lenientRules)
    const results = people.map(({ token }) => {
      const childHash = hashRefreshToken(deriveChildToken(key, token))
      return refreshLocked({ userAgent: null, ip: '', tokenHash: hashRefreshToken(token), childHash })
    })
    expect(await Promise.all(results)).toEqual([{ verdict: 'busy' }, { verdict: 'busy' }])
    expect(all).toHaveBeenCalledTimes(1)
  })

  it('keeps one chain of tokens per session under any batches', async () => {
    const refreshStrictly = batchRefreshes(database.pools, { ...lenientRules, reuseSeconds: 0 })
    // A session, and the position of the token in the session's chain.
    const request = fc.record({ session: fc.nat(3), back: fc.constantFrom(0, 0, 0, 0, 1, 2) })
    const together = fc.array(request, { minLength: 1, maxLength: 10 })
    await fc.assert(
      fc.asyncProperty(fc.array(together, { minLength: 1, maxLength: 5 }), async (rounds) => {
        const families = (await signInMany(4)).map((session) => ({ ...session, chain: [session.token], isDead: false }))
        for (const requests of rounds) {
          const asked = requests.map(({ session, back }) => {
            const family = families[session]
            if (!family) throw new Error('nobody')
            return { family, token: family.chain.at(-1 - back) ?? family.token }
          })
          const results = await Promise.all(
            asked.map(({ token }) =>
              refreshStrictly({
                userAgent: null,
                ip: '',
                tokenHash: hashRefreshToken(token),
                childHash: hashRefreshToken(deriveChildToken(key, token)),
              }),
            ),
          )
          for (const family of families) {
            const own = results.filter((_, index) => asked[index]?.family === family).map(({ verdict }) => verdict)
            const rotations = own.filter((verdict) => verdict === 'rotated').length
            expect(own.every((verdict) => verdict === 'rotated' || verdict === 'stolen')).toBe(true)
            // At most one request with the newest token creates the next token. In a revoked session, no request does.
            expect(rotations).toBeLessThanOrEqual(family.isDead ? 0 : 1)
            if (rotations === 1) family.chain.push(deriveChildToken(key, family.chain.at(-1) ?? ''))
            if (own.includes('stolen')) family.isDead = true
          }
        }
        for (const { sessionId, chain, isDead } of families) {
          expect(await tokensOf(sessionId)).toEqual(
            chain.map((token, counter) => ({
              token_hash: hashRefreshToken(token),
              counter: BigInt(counter),
              revoked: isDead || counter < chain.length - 1,
            })),
          )
        }
      }),
      { numRuns: 25 },
    )
  })
})
