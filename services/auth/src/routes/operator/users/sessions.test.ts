import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../../test/auth-app.ts'
import { errorBody, listedSessionBody, statusAndBody, unknownRefreshToken } from '../../../../test/bodies.ts'
import {
  changeEntry,
  changesOf,
  createOperator,
  OPERATOR_SETTINGS,
  type SignedInOperator,
} from '../../../../test/operators.ts'
import { createSignedIn, type SignedIn, signIn } from '../../../../test/signed-in.ts'
import { createSignedUp } from '../../../../test/signed-up.ts'

let test: TestApp
let support: SignedInOperator
beforeAll(async () => {
  test = await openTestApp({ settings: OPERATOR_SETTINGS })
  support = await createOperator(test, 'support')
})
afterAll(() => test.close())

const list = (id: string, query = '') =>
  test.app.inject({ url: `/operator/users/${id}/sessions${query}`, headers: { ...support.credentials } })
const end = (path: string, key: string = randomUUID()) => {
  const headers = { ...support.credentials, 'idempotency-key': key }
  return test.app.inject({ method: 'DELETE', url: `/operator/users/${path}`, headers })
}
const refresh = ({ refreshToken }: SignedIn) =>
  test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })
const UNKNOWN_USER = [404, errorBody(404, 'user_not_found', 'User not found')]

describe('GET /operator/users/:userId/sessions', () => {
  it('200: lists the sessions of a user, page by page', async () => {
    const first = await createSignedIn(test)
    test.clock.advance(1_000)
    const second = await signIn(test, first)
    const sessions = [second, first].map(({ sessionId }) => listedSessionBody(sessionId))
    expect(statusAndBody(await list(first.user.id))).toEqual([200, { sessions }])
    const page = await list(first.user.id, '?limit=1')
    expect(statusAndBody(page)).toEqual([200, { sessions: sessions.slice(0, 1) }])
    const next = /\?[^>]+/.exec(String(page.headers.link))?.[0]
    expect(statusAndBody(await list(first.user.id, next))).toEqual([200, { sessions: sessions.slice(1) }])
  })

  it('404: refuses an unknown user and an id that is no UUID', async () => {
    expect(statusAndBody(await list(randomUUID()))).toEqual(UNKNOWN_USER)
    const malformed = errorBody(404, 'validation_failed', 'user_id must be an UUID')
    expect(statusAndBody(await list('x'))).toEqual([404, malformed])
  })
})

describe('DELETE /operator/users/:userId/sessions', () => {
  it('200: ends all sessions of a user, and records it', async () => {
    const first = await createSignedIn(test)
    const second = await signIn(test, first)
    expect(statusAndBody(await end(`${first.user.id}/sessions`))).toEqual([200, { ended: 2 }])
    for (const each of [first, second]) expect(statusAndBody(await refresh(each))).toEqual(unknownRefreshToken)
    const change = { action: 'sessions.end', object: { kind: 'user', id: first.user.id }, changes: { ended: 2 } }
    expect(await changesOf(test, first.user.id)).toEqual([changeEntry(support, change)])
    expect(statusAndBody(await end(`${first.user.id}/sessions`))).toEqual([200, { ended: 0 }])
  })

  it('403: refuses to end the sessions of an operator, unless an admin asks', async () => {
    const operator = await createSignedIn(test, { console_role: 'viewer' })
    const refused = errorBody(403, 'operator_forbidden', 'The role of the operator may not do this', {
      action: 'sessions.end',
      role: 'support',
    })
    for (const path of ['sessions', `sessions/${operator.sessionId}`])
      expect(statusAndBody(await end(`${operator.user.id}/${path}`))).toEqual([403, refused])
    expect((await refresh(operator)).statusCode).toBe(200)
  })

  it('404: refuses an unknown user', async () => {
    expect(statusAndBody(await end(`${randomUUID()}/sessions`))).toEqual(UNKNOWN_USER)
  })
})

describe('DELETE /operator/users/:userId/sessions/:sessionId', () => {
  it('200: ends one session, and no other', async () => {
    const first = await createSignedIn(test)
    const second = await signIn(test, first)
    expect(statusAndBody(await end(`${first.user.id}/sessions/${first.sessionId}`))).toEqual([200, { ended: 1 }])
    expect(statusAndBody(await refresh(first))).toEqual(unknownRefreshToken)
    expect((await refresh(second)).statusCode).toBe(200)
  })

  it('404: refuses a session of another user, an ended session and an id that is no UUID', async () => {
    const [{ user }, other] = [await createSignedUp(test.deps), await createSignedIn(test)]
    const unknown = [404, errorBody(404, 'session_not_found', 'Session not found')]
    expect(statusAndBody(await end(`${user.id}/sessions/${other.sessionId}`))).toEqual(unknown)
    expect((await refresh(other)).statusCode).toBe(200)
    await end(`${other.user.id}/sessions`)
    expect(statusAndBody(await end(`${other.user.id}/sessions/${other.sessionId}`))).toEqual(unknown)
    const malformed = errorBody(404, 'validation_failed', 'session_id must be an UUID')
    expect(statusAndBody(await end(`${user.id}/sessions/x`))).toEqual([404, malformed])
  })
})
