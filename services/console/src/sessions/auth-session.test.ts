import { describe, expect, it } from 'vitest'
import { type AuthTokens, createAccessTokens, createAuthSessions } from './auth-session.ts'

const refresh = (status: number) =>
  createAuthSessions(
    async () => ({ status, body: {}, next: undefined, etag: undefined }),
    new Map([['viewer', 'key']]),
  ).refresh('r0', '127.0.0.1')

it.each([409, 429])('takes no session for ended where auth answers %i to a refresh', async (status) => {
  await expect(refresh(status)).rejects.toThrow('Too many requests. Wait a minute')
})

it('takes a session for ended where auth knows no such refresh token', async () => {
  expect(await refresh(400)).toBeUndefined()
})

const HOUR_MS = 3_600_000
const start = Date.parse('2026-11-26T10:00:00Z')
const session = { id: 's1', refreshToken: 'r0', generation: 0, signedInAt: start, usedAt: start, hasSecondFactor: true }

/** A stub of auth. Each refresh token is valid once, and the next token has the next number. */
function open(answer: (refreshToken: string) => Promise<string | undefined>) {
  const clock = { now: start }
  const asked: string[] = []
  const tokens = createAccessTokens(
    {
      refresh: async (refreshToken): Promise<AuthTokens | undefined> => {
        asked.push(refreshToken)
        const next = await answer(refreshToken)
        return next === undefined ? undefined : made(next, clock.now)
      },
    },
    () => new Date(clock.now),
  )
  return { tokens, asked, clock }
}

const made = (refreshToken: string, now: number): AuthTokens => ({
  userId: 'u1',
  sessionId: 's1',
  accessToken: `access of ${refreshToken}`,
  refreshToken,
  expiresAtMs: now + HOUR_MS,
  hasSecondFactor: true,
  role: 'viewer',
})
const following = async (refreshToken: string) => `r${Number(refreshToken.slice(1)) + 1}`

describe('the access token of a session', () => {
  it('is refreshed once for all requests that come at the same time', async () => {
    const { tokens, asked } = open(following)
    const found = await Promise.all(Array.from({ length: 20 }, () => tokens.find(session, '127.0.0.1')))
    expect(asked).toEqual(['r0'])
    expect(new Set(found.map((each) => each?.accessToken))).toEqual(new Set(['access of r1']))
  })

  it('is kept until it is about to expire, and then refreshed by the newest refresh token', async () => {
    const { tokens, asked, clock } = open(following)
    await tokens.find(session, '127.0.0.1')
    clock.now += HOUR_MS - 21_000
    // This browser still has the cookie from before the refresh.
    await tokens.find(session, '127.0.0.1')
    expect(asked).toEqual(['r0'])
    clock.now += 2_000
    expect(await tokens.find(session, '127.0.0.1')).toEqual({ ...made('r2', clock.now), generation: 2 })
    expect(asked).toEqual(['r0', 'r1'])
  })

  it('is refreshed by the token of the cookie where another process has made a newer one', async () => {
    const { tokens, asked, clock } = open(following)
    tokens.keep({ ...made('r1', start), generation: 1 })
    const newer = { ...session, refreshToken: 'r5', generation: 5 }
    expect(await tokens.find(newer, '127.0.0.1')).toEqual({
      ...made('r1', start),
      refreshToken: 'r5',
      generation: 5,
    })
    clock.now += HOUR_MS
    await tokens.find(newer, '127.0.0.1')
    expect(asked).toEqual(['r5'])
  })

  it('is refreshed once where the cookie has shown a second factor in another process and this one has not', async () => {
    const { tokens, asked } = open(following)
    tokens.keep({ ...made('r1', start), generation: 1, hasSecondFactor: false })
    // Both processes have replaced the refresh token once, so the generations do not show which token is newer.
    const raised = { ...session, refreshToken: 'r2', generation: 1, hasSecondFactor: true } as const
    expect(await tokens.find(raised, '127.0.0.1')).toEqual({ ...made('r3', start), generation: 2 })
    expect(await tokens.find(raised, '127.0.0.1')).toEqual({ ...made('r3', start), generation: 2 })
    expect(asked).toEqual(['r2'])
  })

  it('is not given to a cookie that was copied before the second factor was shown', async () => {
    const { tokens, asked } = open(following)
    tokens.keep({ ...made('r1', start), generation: 1 })
    expect(await tokens.find({ ...session, hasSecondFactor: false }, '127.0.0.1')).toBeUndefined()
    expect(await tokens.find(session, '127.0.0.1')).toEqual({ ...made('r1', start), generation: 1 })
    expect(asked).toEqual([])
  })

  it('is refreshed apart for such a cookie, which neither gets nor ends the raised session', async () => {
    const { tokens, asked } = open(async (refreshToken) => (refreshToken === 'r0' ? 'r1' : undefined))
    const copied = { ...session, refreshToken: 'old', hasSecondFactor: false }
    const [first, raised, last] = await Promise.all([
      tokens.find(copied, '127.0.0.1'),
      tokens.find(session, '127.0.0.1'),
      tokens.find(copied, '127.0.0.1'),
    ])
    expect([first, raised, last]).toEqual([undefined, { ...made('r1', start), generation: 1 }, undefined])
    expect(asked).toEqual(['old', 'r0'])
  })

  it('is not given to such a cookie where auth still takes its refresh token', async () => {
    const { tokens, asked } = open(following)
    const copied = { ...session, hasSecondFactor: false }
    for (let times = 0; times < 2; times += 1) expect(await tokens.find(copied, '127.0.0.1')).toBeUndefined()
    expect(asked).toEqual(['r0'])
  })

  it('is gone when auth has ended the session, and when it was forgotten', async () => {
    const { tokens, asked } = open(async (refreshToken) => (refreshToken === 'r1' ? 'r9' : undefined))
    expect(await tokens.find(session, '127.0.0.1')).toBeUndefined()
    tokens.keep({ ...made('r1', start), generation: 1 })
    tokens.forget('s1')
    expect(await tokens.find({ ...session, refreshToken: 'r2' }, '127.0.0.1')).toBeUndefined()
    expect(asked).toEqual(['r0', 'r2'])
  })

  it('is asked for once by a refresh token whose session has ended, however often its cookie is sent', async () => {
    const { tokens, asked } = open(async () => undefined)
    for (let times = 0; times < 3; times += 1) expect(await tokens.find(session, '127.0.0.1')).toBeUndefined()
    expect(asked).toEqual(['r0'])
  })

  it('is asked for again after auth did not answer', async () => {
    let isAway = true
    const { tokens } = open(async (refreshToken) => {
      if (isAway) throw new Error('away')
      return following(refreshToken)
    })
    await expect(tokens.find(session, '127.0.0.1')).rejects.toThrow('away')
    isAway = false
    expect(await tokens.find(session, '127.0.0.1')).toEqual({ ...made('r1', start), generation: 1 })
  })
})
