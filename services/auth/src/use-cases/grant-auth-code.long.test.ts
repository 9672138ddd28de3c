import { createHash, randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { addApp } from '../../test/authenticator-app.ts'
import {
  anyTime,
  errorBody,
  grantErrorBody,
  outcomeOf,
  refusalsIn,
  signedUpBody,
  statusAndBody,
} from '../../test/bodies.ts'
import { expectSession } from '../../test/expect-user.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { openMailApp } from '../../test/mail-app.ts'
import { createSignedIn } from '../../test/signed-in.ts'
import { createSignedUp, type SignedUp } from '../../test/signed-up.ts'

const main = await openMailApp({ AUTH_RATE_LIMIT_EMAIL_SENT: 'off', AUTH_SECURITY_FAILED_ATTEMPTS: 'off' })
const { app, clock, deps } = main
const VERSIONED = { 'x-supabase-api-version': '2024-01-01' }

afterAll(() => main.close())

const exchange = (body: object, headers = {}) => main.post('/token?grant_type=pkce', body, headers)
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

/** Returns a verifier and the parameters that begin its flow. */
function newPair() {
  const verifier = randomBytes(32).toString('base64url')
  const codeChallenge = createHash('sha256').update(verifier).digest('base64url')
  return { verifier, pair: { code_challenge: codeChallenge, code_challenge_method: 's256' } }
}

/** Follows the link of the next mail to an address. @returns the auth code at its end */
async function followMail(email: string): Promise<string> {
  const { link } = await main.readMail(email)
  const answer = await app.inject({ method: 'GET', url: `/verify${link.search}` })
  expect(answer.statusCode).toBe(303)
  return new URL(answer.headers.location ?? '').searchParams.get('code') ?? ''
}

async function newCode(signedUp?: SignedUp) {
  const { user, email } = signedUp ?? (await createSignedUp(deps))
  const { verifier, pair } = newPair()
  await main.post('/magiclink', { email, ...pair })
  return { user, email, verifier, code: await followMail(email) }
}

/** Expects an error of /token in both body formats. */
async function expectFailure(body: object, status: number, code: string, text: string) {
  const error = code === 'validation_failed' ? 'invalid_request' : 'invalid_grant'
  const plain = await exchange(body)
  expect(plain.json()).toEqual({ code: status, error_code: code, msg: text, error, error_description: text })
  expect(plain.statusCode).toBe(status)
  expect((await exchange(body, VERSIONED)).json()).toEqual({ code, message: text, error, error_description: text })
}

describe('POST /token?grant_type=pkce', () => {
  // ASVS 10.4.2
  it('200: exchanges code and verifier for a session once', async () => {
    const { user, email, code, verifier } = await newCode()
    const answer = await exchange({ auth_code: code, code_verifier: verifier })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({
      access_token: expect.any(String),
      token_type: 'bearer',
      expires_in: 3600,
      expires_at: Math.floor(clock.now().getTime() / 1_000) + 3600,
      refresh_token: expect.stringMatching(/^[\w-]{32}$/),
      user: answer.json().user,
    })
    expect(answer.json().user).toEqual(
      signedUpBody({ user, email }, { recovery_sent_at: anyTime, last_sign_in_at: anyTime }),
    )
    expect(answer.headers['cache-control']).toEqual('no-store')
    await expectFailure(
      { auth_code: code, code_verifier: verifier },
      404,
      'flow_state_not_found',
      'invalid flow state, no valid flow state found',
    )
    const flows = await deps.db.selectFrom('flow_state').select('id').where('user_id', '=', user.id).execute()
    expect(flows).toEqual([])
  })

  it('200: the session has the authentication method of the flow', async () => {
    const methodOf = async (email: string, ask: (pair: object) => Promise<unknown>) => {
      const { verifier, pair } = newPair()
      await ask(pair)
      const answer = await exchange({ auth_code: await followMail(email), code_verifier: verifier })
      return claimsOf(answer.json().access_token).amr.map(({ method }: { method: string }) => method)
    }
    const signup = (pair: object) =>
      main.post('/signup', { email: 'new@example.com', password: 'correct horse', ...pair })
    expect(await methodOf('new@example.com', signup)).toEqual(['email/signup'])
    const { email } = await createSignedUp(deps)
    expect(await methodOf(email, (pair) => main.post('/recover', { email, ...pair }))).toEqual(['recovery'])
    const otp = (pair: object) => main.post('/otp', { email: 'staged@example.com', ...pair })
    expect(await methodOf('staged@example.com', otp)).toEqual(['magiclink'])
  })

  it('200: compares a plain code challenge with the verifier itself', async () => {
    const { email } = await createSignedUp(deps)
    const verifier = 'v'.repeat(43)
    await main.post('/recover', { email, code_challenge: verifier, code_challenge_method: 'plain' })
    const answer = await exchange({ auth_code: await followMail(email), code_verifier: verifier })
    expectSession(answer, signedUpBody({ email }, { recovery_sent_at: anyTime }))
  })

  // ASVS 10.4.2
  it('200: accepts one of many parallel exchanges', async () => {
    const { user, code, verifier } = await newCode()
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => exchange({ auth_code: code, code_verifier: verifier })),
    )
    expect(refusalsIn(answers)).toEqual(
      Array(9).fill([
        404,
        grantErrorBody('invalid_grant', 'flow_state_not_found', 'invalid flow state, no valid flow state found', 404),
      ]),
    )
    const sessions = await deps.db.selectFrom('sessions').select('id').where('user_id', '=', user.id).execute()
    expect(sessions).toHaveLength(1)
  })

  it('400: refuses a wrong verifier and still accepts the right one', async () => {
    const { user, email, code, verifier } = await newCode()
    await expectFailure(
      { auth_code: code, code_verifier: `${verifier}x` },
      400,
      'bad_code_verifier',
      'code challenge does not match previously saved code verifier',
    )
    expectSession(
      await exchange({ auth_code: code, code_verifier: verifier }),
      signedUpBody({ user, email }, { recovery_sent_at: anyTime }),
    )
  })

  // ASVS 10.4.3
  it('422: refuses an expired code', async () => {
    const { code, verifier } = await newCode()
    clock.advance(300_000)
    await expectFailure(
      { auth_code: code, code_verifier: verifier },
      422,
      'flow_state_expired',
      'invalid flow state, flow state has expired',
    )
  })

  it('200: the lifetime of the code begins when the link is followed', async () => {
    const { email } = await createSignedUp(deps)
    const { verifier, pair } = newPair()
    await main.post('/recover', { email, ...pair })
    clock.advance(3_600_000)
    const code = await followMail(email)
    clock.advance(299_999)
    expectSession(
      await exchange({ auth_code: code, code_verifier: verifier }),
      signedUpBody({ email }, { recovery_sent_at: anyTime }),
    )
  })

  it('404: refuses an unknown code', async () => {
    const unknown = { auth_code: '0197f7a1-0000-4000-8000-000000000000', code_verifier: 'v'.repeat(43) }
    await expectFailure(unknown, 404, 'flow_state_not_found', 'invalid flow state, no valid flow state found')
  })

  it('400: refuses a banned user', async () => {
    const { user, code, verifier } = await newCode()
    const until = new Date(clock.now().getTime() + 1_000)
    await deps.db.updateTable('users').set({ banned_until: until }).where('id', '=', user.id).execute()
    await expectFailure({ auth_code: code, code_verifier: verifier }, 400, 'user_banned', 'User is banned')
  })

  it('400: refuses a request without the code or without its verifier', async () => {
    const { code, verifier } = await newCode()
    const empty = 'invalid request: both auth code and code verifier should be non-empty'
    for (const body of [{ auth_code: code }, { code_verifier: verifier }, { auth_code: '', code_verifier: verifier }]) {
      await expectFailure(body, 400, 'validation_failed', empty)
    }
  })

  it('404: refuses a code from before a new password, whoever has set the password', async () => {
    const signedIn = await createSignedIn(main)
    const login = await newCode(signedIn)
    const payload = { password: 'another horse' }
    await app.inject({ method: 'PUT', url: '/user', headers: signedIn.headers, payload })
    const body = { auth_code: login.code, code_verifier: login.verifier }
    await expectFailure(body, 404, 'flow_state_not_found', 'invalid flow state, no valid flow state found')
    const { user, code, verifier } = await newCode()
    await app.inject({ method: 'PUT', url: `/admin/users/${user.id}`, headers: OPERATOR, payload })
    expect(statusAndBody(await exchange({ auth_code: code, code_verifier: verifier }))).toEqual([
      404,
      grantErrorBody('invalid_grant', 'flow_state_not_found', 'invalid flow state, no valid flow state found', 404),
    ])
  })

  // ASVS 7.4.3
  it.each([
    ['', 404],
    ['?scope=global', 404],
    ['?scope=others', 404],
    ['?scope=local', 200],
  ])('a code from before POST /logout%s ends in the status %d', async (query, status) => {
    const signedIn = await createSignedIn(main)
    const { code, verifier } = await newCode(signedIn)
    expect(statusAndBody(await main.post(`/logout${query}`, {}, signedIn.headers))).toEqual([204, ''])
    const text = 'invalid flow state, no valid flow state found'
    const refused = [404, grantErrorBody('invalid_grant', 'flow_state_not_found', text, 404)]
    const answer = await exchange({ auth_code: code, code_verifier: verifier })
    expect(outcomeOf(answer)).toEqual(status === 200 ? 200 : refused)
  })

  it('404: refuses a code from before the first factor', async () => {
    const signedIn = await createSignedIn(main)
    const { code, verifier } = await newCode(signedIn)
    await addApp(main, signedIn.headers)
    const body = { auth_code: code, code_verifier: verifier }
    await expectFailure(body, 404, 'flow_state_not_found', 'invalid flow state, no valid flow state found')
  })

  it('403: following the link uses up the code of its mail', async () => {
    const { email } = await createSignedUp(deps)
    await main.post('/magiclink', { email, ...newPair().pair })
    const { link, code } = await main.readMail(email)
    await app.inject({ method: 'GET', url: `/verify${link.search}` })
    expect(statusAndBody(await main.post('/verify', { type: 'magiclink', email, token: code }))).toEqual([
      403,
      errorBody(403, 'otp_expired', 'Token has expired or is invalid'),
    ])
  })
})
