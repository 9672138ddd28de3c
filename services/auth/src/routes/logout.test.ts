import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import { claimsOf } from '../../test/authenticator-app.ts'
import { anyTime, grantErrorBody, signedUpBody, statusAndBody } from '../../test/bodies.ts'
import { expectUser } from '../../test/expect-user.ts'
import { forgeBearer } from '../../test/forged-token.ts'
import { createSignedUp, type SignedUp } from '../../test/signed-up.ts'

let test: TestApp
beforeAll(async () => {
  test = await openTestApp()
})
afterAll(() => test.close())

async function signIn({ email, password }: SignedUp, on = test) {
  const payload = { email, password }
  const answer = await on.app.inject({ method: 'POST', url: '/token?grant_type=password', payload })
  const { access_token: token, refresh_token: refreshToken } = answer.json()
  return { authorization: `Bearer ${token}`, refreshToken: String(refreshToken) }
}

function signOut(authorization: string, query = '', on = test) {
  return on.app.inject({
    method: 'POST',
    url: `/logout${query}`,
    headers: { authorization, 'content-type': 'application/json;charset=UTF-8' },
  })
}

async function canRefresh(refresh_token: string): Promise<boolean> {
  const answer = await test.app.inject({
    method: 'POST',
    url: '/token?grant_type=refresh_token',
    payload: { refresh_token },
  })
  if (answer.statusCode !== 200) {
    expect(answer.json()).toEqual(
      grantErrorBody('invalid_grant', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    )
  }
  return answer.statusCode === 200
}

describe('POST /logout', () => {
  // ASVS 7.4.3, 7.5.2, 10.4.9
  it.each([
    ['', [false, false]],
    ['?scope=global', [false, false]],
    ['?scope=local', [false, true]],
    ['?scope=others', [true, false]],
  ])('204: scope %j ends the sessions that it names', async (query, alive) => {
    const signedUp = await createSignedUp(test.deps)
    const [own, other] = [await signIn(signedUp), await signIn(signedUp)]
    const answer = await signOut(own.authorization, query)
    expect({ status: answer.statusCode, body: answer.body }).toEqual({ status: 204, body: '' })
    expect([await canRefresh(own.refreshToken), await canRefresh(other.refreshToken)]).toEqual(alive)
  })

  it('204: accepts a repeated sign-out while the access token is valid', async () => {
    const signedUp = await createSignedUp(test.deps)
    const { authorization } = await signIn(signedUp)
    expect(statusAndBody(await signOut(authorization))).toEqual([204, ''])
    expect(statusAndBody(await signOut(authorization))).toEqual([204, ''])
    expectUser(
      await test.app.inject({ url: '/user', headers: { authorization } }),
      signedUpBody(signedUp, { last_sign_in_at: anyTime }),
    )
  })

  it.each(['', '?scope=global', '?scope=others', '?scope=local'])(
    '204: scope %j with the token of an ended session ends no later session and records nothing',
    async (query) => {
      const signedUp = await createSignedUp(test.deps)
      const stolen = await signIn(signedUp)
      expect(statusAndBody(await signOut(stolen.authorization, '?scope=local'))).toEqual([204, ''])
      const later = await signIn(signedUp)
      expect(statusAndBody(await signOut(stolen.authorization, query))).toEqual([204, ''])
      expect(await canRefresh(later.refreshToken)).toBe(true)
      const signOuts = test.deps.db
        .selectFrom('audit_log_entries')
        .select('id')
        .where('actor_id', '=', signedUp.user.id)
        .where('action', '=', 'logout')
      expect(await signOuts.execute()).toHaveLength(1)
    },
  )

  it.each(['', '?scope=global', '?scope=others', '?scope=local'])(
    '204: scope %j with the token of a session that was revoked as stolen ends no other session',
    async (query) => {
      const signedUp = await createSignedUp(test.deps)
      const [stolen, other] = [await signIn(signedUp), await signIn(signedUp)]
      const { session_id } = claimsOf(stolen.authorization)
      const tokens = test.deps.db.updateTable('refresh_tokens').set({ revoked: true })
      await tokens.where('session_id', '=', String(session_id)).execute()
      expect(statusAndBody(await signOut(stolen.authorization, query))).toEqual([204, ''])
      expect(await canRefresh(other.refreshToken)).toBe(true)
    },
  )

  it('204: ends nothing by a token that names a session of another user', async () => {
    const [signedUp, other] = [await createSignedUp(test.deps), await createSignedUp(test.deps)]
    const [own, foreign] = [await signIn(signedUp), await signIn(other)]
    const { session_id } = claimsOf(foreign.authorization)
    const authorization = forgeBearer({ sub: signedUp.user.id, session_id })
    expect(statusAndBody(await signOut(authorization))).toEqual([204, ''])
    expect([await canRefresh(own.refreshToken), await canRefresh(foreign.refreshToken)]).toEqual([true, true])
  })

  it('400: refuses an unknown scope', async () => {
    const { authorization } = await signIn(await createSignedUp(test.deps))
    const answer = await signOut(authorization, '?scope=mine')
    expect({ status: answer.statusCode, body: answer.json() }).toEqual({
      status: 400,
      body: { code: 400, error_code: 'validation_failed', msg: 'Unsupported logout scope "mine"' },
    })
  })

  it('401: refuses a request without an access token, in both bodies', async () => {
    const text = 'This endpoint requires a valid Bearer token'
    const plain = await test.app.inject({ method: 'POST', url: '/logout' })
    expect({ status: plain.statusCode, body: plain.json() }).toEqual({
      status: 401,
      body: { code: 401, error_code: 'no_authorization', msg: text },
    })
    const headers = { 'x-supabase-api-version': '2024-01-01' }
    const versioned = await test.app.inject({ method: 'POST', url: '/logout', headers })
    expect({ status: versioned.statusCode, body: versioned.json() }).toEqual({
      status: 401,
      body: { code: 'no_authorization', message: text },
    })
  })

  it('403: refuses a banned and a deleted user', async () => {
    const signedUp = await createSignedUp(test.deps)
    const { authorization } = await signIn(signedUp)
    const change = (values: { banned_until?: Date; deleted_at?: Date }) =>
      test.deps.db.updateTable('users').set(values).where('id', '=', signedUp.user.id).execute()
    await change({ banned_until: new Date(Date.now() + 60_000) })
    expect(statusAndBody(await signOut(authorization))).toEqual([
      403,
      {
        code: 403,
        error_code: 'user_banned',
        msg: 'User is banned',
      },
    ])
    await change({ deleted_at: new Date() })
    expect(statusAndBody(await signOut(authorization))).toEqual([
      403,
      {
        code: 403,
        error_code: 'user_not_found',
        msg: 'User from sub claim in JWT does not exist',
      },
    ])
  })

  it('403: refuses a user of another audience and keeps their session', async () => {
    const signedUp = await createSignedUp(test.deps)
    const { authorization, refreshToken } = await signIn(signedUp)
    const own = { id: signedUp.user.id, aud: signedUp.user.audience }
    const moveTo = (aud: string) => test.deps.db.updateTable('users').set({ aud }).where('id', '=', own.id).execute()
    await moveTo('elsewhere')
    expect(statusAndBody(await signOut(authorization))).toEqual([
      403,
      {
        code: 403,
        error_code: 'user_not_found',
        msg: 'User from sub claim in JWT does not exist',
      },
    ])
    await moveTo(own.aud)
    expect(await canRefresh(refreshToken)).toBe(true)
  })

  // ASVS 7.4.1
  it('403: refuses an ended session when the setting enforces it', async () => {
    const enforced = await openTestApp({ settings: { AUTH_SESSIONS_ENFORCE_ON_ACCESS_TOKEN: 'true' } })
    const { authorization } = await signIn(await createSignedUp(enforced.deps), enforced)
    expect(statusAndBody(await signOut(authorization, '', enforced))).toEqual([204, ''])
    expect(statusAndBody(await signOut(authorization, '', enforced))).toEqual([
      403,
      {
        code: 403,
        error_code: 'session_not_found',
        msg: 'Session from session_id claim in JWT does not exist',
      },
    ])
    await enforced.close()
  })
})
