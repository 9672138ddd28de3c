import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerBehind } from '../../../../test/answer-behind.ts'
import { addApp } from '../../../../test/authenticator-app.ts'
import { anyId, errorBody } from '../../../../test/bodies.ts'
import { failures, openPasskeyApp, type PasskeyApp, paths } from '../../../../test/passkey-app.ts'
import { createSignedIn, signIn } from '../../../../test/signed-in.ts'

let test: PasskeyApp
beforeAll(async () => {
  test = await openPasskeyApp()
})
afterAll(() => test.close())

describe('POST /passkeys/registration/options', () => {
  it('200: asks for a discoverable credential and excludes those that the user has', async () => {
    const { headers, email } = await createSignedIn(test)
    const asked = await test.post(paths.start, {}, headers)
    const options = {
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      rp: { name: 'The App', id: 'app.example.com' },
      user: { id: expect.stringMatching(/^[\w-]+$/), name: email, displayName: email },
      pubKeyCredParams: [
        { alg: -48, type: 'public-key' },
        { alg: -8, type: 'public-key' },
        { alg: -7, type: 'public-key' },
        { alg: -257, type: 'public-key' },
      ],
      timeout: 300000,
      attestation: 'none',
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', userVerification: 'preferred', requireResidentKey: true },
      extensions: { credProps: true },
      hints: [],
    }
    const expires_at = Math.floor(test.clock.now().getTime() / 1_000) + 300
    const body = { challenge_id: anyId, options, expires_at }
    expect([asked.statusCode, asked.json()]).toEqual([200, body])
    expect(asked.headers['cache-control']).toBe('no-store')
    const key = createAuthenticator('http://localhost:3000')
    const credential = key.create(asked.json().options)
    await test.post(paths.finish, { challenge_id: asked.json().challenge_id, credential }, headers)
    const excludeCredentials = [{ id: credential.id, transports: ['internal'], type: 'public-key' }]
    expect(await test.start(headers)).toEqual({ ...body, options: { ...options, excludeCredentials } })
  })

  it('403: refuses a user whose account is deleted meanwhile', async () => {
    const { headers, user } = await createSignedIn(test)
    const answer = await answerBehind(
      test.deps.db,
      (trx) => trx.deleteFrom('users').where('id', '=', user.id).execute(),
      () => test.post(paths.start, {}, headers),
    )
    const body = errorBody(403, 'user_not_found', 'User from sub claim in JWT does not exist')
    expect([answer.statusCode, answer.json()]).toEqual([403, body])
  })

  const request = { method: 'POST', url: paths.start } as const

  it('401: refuses a request without an access token', async () => {
    await test.fail(request, [401, 'no_authorization', 'This endpoint requires a valid Bearer token'])
  })

  it('403: refuses an anonymous user', async () => {
    const { access_token } = (await test.post('/signup', {})).json()
    const anonymous = { authorization: `Bearer ${access_token}` }
    const refused = 'Anonymous user not allowed to perform these actions'
    await test.fail({ ...request, headers: anonymous }, [403, 'no_authorization', refused])
  })

  it('403: refuses a session below aal2 of a user with a second factor', async () => {
    const signedIn = await createSignedIn(test)
    await addApp(test, signedIn.headers)
    const later = await signIn(test, signedIn)
    await test.fail({ ...request, headers: later.headers }, failures.needsAal2)
  })
})
