import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AuthenticatorApp,
  addApp,
  answerChallenge,
  challenge,
  claimsOf,
  enrolApp,
} from '../../../test/authenticator-app.ts'
import {
  amrEntry,
  anyTime,
  claimsBody,
  errorBody,
  expectBody,
  factorBody,
  grantErrorBody,
  refusalsIn,
  sessionBody,
  signedUpBody,
  statusAndBody,
} from '../../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../../test/expect-failure.ts'
import { expectSession } from '../../../test/expect-user.ts'
import { type MailApp, openMailApp } from '../../../test/mail-app.ts'
import { createSignedIn, signIn } from '../../../test/signed-in.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({
    AUTH_DB_NAMESPACE: 'app',
    // Behind one proxy. Requests have no X-Real-Ip, so the request limits do not count them.
    AUTH_TRUSTED_PROXIES: '1',
    AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
    AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_ENROLLED_ENABLED: 'true',
    AUTH_SESSIONS_TIMEBOX: '24h',
    AUTH_SESSIONS_INACTIVITY_TIMEOUT: '1h',
  })
})
afterAll(() => test.close())

type Headers = Readonly<Record<string, string>>
const verify = (factorId: string, payload: object, headers: Headers) =>
  test.post(`/factors/${factorId}/verify`, payload, headers)
const expectFailure = (factorId: string, payload: object, headers: Headers, failure: Failure) =>
  failWith(test, { method: 'POST', url: `/factors/${factorId}/verify`, headers, payload }, failure)
const refresh = (refresh_token: string) => test.post('/token?grant_type=refresh_token', { refresh_token })

const WRONG = [422, 'mfa_verification_failed', 'Invalid TOTP code entered'] as const
const MISMATCH = [422, 'mfa_ip_address_mismatch', 'Challenge and verify IP addresses mismatch.'] as const
const NOT_FOUND = [422, 'mfa_factor_not_found', 'MFA factor with the provided challenge ID not found'] as const

/** Codes that the app does not show around the current time. */
function wrongCodes(app: AuthenticatorApp, count: number): readonly string[] {
  const right = [-1, 0, 1].map((step) => app.code(step))
  return Array.from({ length: count + 3 }, (_, index) => String(100_000 + index))
    .filter((code) => !right.includes(code))
    .slice(0, count)
}

/** Runs the requests one after the other. */
async function inTurn<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
  for (const item of items) await run(item)
}

async function createWithApp() {
  const signedIn = await createSignedIn(test)
  const app = await enrolApp(test, signedIn.headers)
  const ask = (headers: { readonly authorization: string } = signedIn.headers) => challenge(test, headers, app.factorId)
  /** The user record after the verification of the app. */
  const expected = signedUpBody(signedIn, { factors: [factorBody({ id: app.factorId, last_challenged_at: anyTime })] })
  return { ...signedIn, app, ask, expected }
}

describe('POST /factors/{factor_id}/verify', () => {
  it('200: steps the same session up to aal2 and verifies the factor', async () => {
    const { app, headers, user, sessionId, email } = await createWithApp()
    const answer = await answerChallenge(test, headers, { factorId: app.factorId, code: app.code() })
    const { access_token, ...rest } = answer.json()
    const factors = [factorBody({ id: app.factorId, last_challenged_at: anyTime })]
    expect([answer.statusCode, answer.json()]).toEqual([200, sessionBody(signedUpBody({ user, email }, { factors }))])
    expect(rest.user.factors[0].last_challenged_at).toMatch(/^2026-/)
    const claims = claimsOf(access_token)
    expect(claims).toEqual(
      claimsBody({
        sub: user.id,
        email,
        user_metadata: { name: 'Ann' },
        aal: 'aal2',
        amr: [amrEntry('totp'), amrEntry('password')],
        session_id: sessionId,
      }),
    )
    expect(claims.amr).toEqual([
      { method: 'totp', timestamp: expect.any(Number) },
      { method: 'password', timestamp: expect.any(Number) },
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(claimsOf((await refresh(rest.refresh_token)).json().access_token)).toEqual(
      claimsBody({
        sub: user.id,
        email,
        user_metadata: { name: 'Ann' },
        aal: 'aal2',
        amr: [amrEntry('totp'), amrEntry('password')],
        session_id: sessionId,
      }),
    )
    const query = test.deps.db.selectFrom('audit_log_entries').select('payload').where('actor_id', '=', user.id)
    const actions = (await query.orderBy('id').execute()).map(({ payload }) => payload.action)
    expect(actions.slice(0, 4)).toEqual(['login', 'factor_in_progress', 'challenge_created', 'verification_attempted'])
  })

  it('200: sends a mail at the first verification only', async () => {
    const { app, headers, email, expected } = await createWithApp()
    const first = await answerChallenge(test, headers, { factorId: app.factorId, code: app.code() })
    const { mail } = await test.readMail(email)
    expect(mail.subject).toBe('A new verification method was added to your account')
    expect(mail.text).toContain('(totp)')
    const steppedUp = { authorization: `Bearer ${first.json().access_token}` }
    const again = await answerChallenge(test, steppedUp, { factorId: app.factorId, code: app.code(1) })
    expectSession(again, expected)
    await test.idle()
    expect(test.recipients().filter((to) => to === email)).toHaveLength(1)
  })

  // ASVS 7.2.4, 7.4.3
  it('200: ends the other sessions of aal1 and removes unverified authenticator apps', async () => {
    const signedIn = await createSignedIn(test)
    const elsewhere = await signIn(test, signedIn)
    const planted = await enrolApp(test, elsewhere.headers, 'planted')
    const steppedUp = await addApp(test, signedIn.headers, 'mine')
    expect(statusAndBody(await refresh(elsewhere.refreshToken))).toEqual([
      400,
      grantErrorBody('invalid_grant', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    ])
    const other = await signIn(test, signedIn)
    const { headers } = other
    const code = { factorId: steppedUp.app.factorId, code: steppedUp.app.code(1) }
    const otherSteppedUp = (await answerChallenge(test, headers, code)).json()
    const mine = factorBody({ id: steppedUp.app.factorId, friendly_name: 'mine', last_challenged_at: anyTime })
    const expected = signedUpBody(signedIn, { factors: [mine] })
    // Both sessions have verified a factor, so neither is ended.
    expectSession(await refresh(steppedUp.refreshToken), expected)
    expectSession(await refresh(otherSteppedUp.refresh_token), expected)
    expect(otherSteppedUp.user.factors.map(({ id }: { id: string }) => id)).not.toContain(planted.factorId)
  })

  // ASVS 7.2.4
  it('400: the earlier refresh token neither returns nor replaces the new one', async () => {
    const signedIn = await createSignedIn(test)
    const { refreshToken } = await addApp(test, signedIn.headers)
    const old = await refresh(signedIn.refreshToken)
    expect(statusAndBody(old)).toEqual([
      400,
      grantErrorBody('invalid_grant', 'refresh_token_already_used', 'Invalid Refresh Token: Already Used'),
    ])
    // A thief may have reused the token, so the session is revoked (reference: Refresh tokens).
    expect(statusAndBody(await refresh(refreshToken))).toEqual([
      400,
      grantErrorBody('invalid_grant', 'refresh_token_already_used', 'Invalid Refresh Token: Already Used'),
    ])
  })

  it('403: refuses to step up a session that was revoked for a stolen refresh token', async () => {
    const { app, headers, refreshToken, ask } = await createWithApp()
    const challenge_id = await ask()
    const child = (await refresh(refreshToken)).json().refresh_token
    await refresh(child)
    expect(statusAndBody(await refresh(refreshToken))).toEqual([
      400,
      grantErrorBody('invalid_grant', 'refresh_token_already_used', 'Invalid Refresh Token: Already Used'),
    ])
    const answer = await verify(app.factorId, { challenge_id, code: app.code() }, headers)
    expect(statusAndBody(answer)).toEqual([
      403,
      errorBody(403, 'session_not_found', 'Session from session_id claim in JWT does not exist'),
    ])
    expect((await test.app.inject({ url: '/user', headers })).json().factors).toEqual([
      factorBody({ id: app.factorId, status: 'unverified', last_challenged_at: anyTime }),
    ])
  })

  it.each([
    ['began too long ago', 'created_at', '25 hours'],
    ['was idle for too long', 'refreshed_at', '2 hours'],
  ] as const)('403: refuses a session that %s', async (_, column, age) => {
    const { app, headers, sessionId, ask } = await createWithApp()
    const challenge_id = await ask()
    const at = sql<Date>`now() - ${age}::interval`
    await test.deps.db.updateTable('sessions').set(column, at).where('id', '=', sessionId).execute()
    await expectFailure(app.factorId, { challenge_id, code: app.code() }, headers, [
      403,
      'session_not_found',
      'Session from session_id claim in JWT does not exist',
    ])
  })

  it('422: a wrong code keeps the challenge, and ten wrong codes remove it', async () => {
    const { app, headers, ask, expected } = await createWithApp()
    const challenge_id = await ask()
    await inTurn(wrongCodes(app, 9), async (code) => {
      const refused = await verify(app.factorId, { challenge_id, code }, headers)
      expect(statusAndBody(refused)).toEqual([422, errorBody(...WRONG)])
    })
    expectSession(await verify(app.factorId, { challenge_id, code: app.code() }, headers), expected)
    const next = await createWithApp()
    const nextId = await next.ask()
    await inTurn(wrongCodes(next.app, 10), (code) =>
      verify(next.app.factorId, { challenge_id: nextId, code }, next.headers),
    )
    await expectFailure(next.app.factorId, { challenge_id: nextId, code: next.app.code() }, next.headers, NOT_FOUND)
  })

  it('422: compares ten of many parallel wrong codes', async () => {
    const { app, headers, ask } = await createWithApp()
    const challenge_id = await ask()
    const guesses = wrongCodes(app, 40).map((code) => verify(app.factorId, { challenge_id, code }, headers))
    const bodies = (await Promise.all(guesses)).map((answer) => expectBody(422, answer))
    const byText = bodies.toSorted((a, b) => b.msg.localeCompare(a.msg))
    expect(byText).toEqual([...Array(30).fill(errorBody(...NOT_FOUND)), ...Array(10).fill(errorBody(...WRONG))])
  })

  it('422: refuses the right code after twenty failures from the same address', async () => {
    const { app, headers, ask } = await createWithApp()
    await inTurn([0, 1], async () => {
      const challenge_id = await ask()
      await inTurn(wrongCodes(app, 10), (code) => verify(app.factorId, { challenge_id, code }, headers))
    })
    await expectFailure(app.factorId, { challenge_id: await ask(), code: app.code() }, headers, WRONG)
  })

  // ASVS 6.6.3
  it('422: refuses the right code from every address after a hundred failures from any addresses', async () => {
    const { app, headers } = await createWithApp()
    const post = (remoteAddress: string, path: string, payload: object = {}) =>
      test.app.inject({ method: 'POST', url: `/factors/${app.factorId}/${path}`, headers, payload, remoteAddress })
    const answerFrom = async (address: string, codes: readonly string[]) => {
      const challenge_id = (await post(address, 'challenge')).json().id
      return Promise.all(codes.map((code) => post(address, 'verify', { challenge_id, code })))
    }
    const addresses = Array.from({ length: 10 }, (_, index) => `203.0.113.${index}`)
    await inTurn(addresses, (address) => answerFrom(address, wrongCodes(app, 10)))
    const [answer] = await answerFrom('203.0.113.99', [app.code()])
    expect(answer && statusAndBody(answer)).toEqual([422, errorBody(...WRONG)])
  })

  // ASVS 6.5.1
  it('422: refuses a used code and every older code, also for another challenge', async () => {
    const { app, headers, expected } = await createWithApp()
    const answer = (code: string) => answerChallenge(test, headers, { factorId: app.factorId, code })
    expectSession(await answer(app.code()), expected)
    for (const code of [app.code(), app.code(-1)]) {
      expect(statusAndBody(await answer(code))).toEqual([422, { code: 422, error_code: WRONG[1], msg: WRONG[2] }])
    }
    expectSession(await answer(app.code(1)), expected)
  })

  it('200: a challenge that refused a used code accepts the next code', async () => {
    const { app, headers, ask, expected } = await createWithApp()
    const code = app.code()
    expectSession(await answerChallenge(test, headers, { factorId: app.factorId, code }), expected)
    const challenge_id = await ask()
    await expectFailure(app.factorId, { challenge_id, code }, headers, WRONG)
    expectSession(await verify(app.factorId, { challenge_id, code: app.code(1) }, headers), expected)
  })

  it('200 and 422: accepts one of fifty parallel requests with one code', async () => {
    const { app, headers, ask } = await createWithApp()
    const challenges = await Promise.all(Array.from({ length: 50 }, () => ask()))
    const code = app.code()
    const verifications = challenges.map((challenge_id) => verify(app.factorId, { challenge_id, code }, headers))
    const answers = await Promise.all(verifications)
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1)
    const refusals = refusalsIn(answers)
    expect(refusals).toHaveLength(49)
    // The accepted request deletes the challenges of the user, so a later request may not find its own.
    const allowed = [WRONG, NOT_FOUND].map(([status, code, text]) => [status, errorBody(status, code, text)])
    for (const refusal of refusals) expect(allowed).toContainEqual(refusal)
  })

  it('200 and 422: accepts one of fifty parallel answers to one challenge', async () => {
    const { app, headers, ask } = await createWithApp()
    const challenge_id = await ask()
    const code = app.code()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => verify(app.factorId, { challenge_id, code }, headers)),
    )
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1)
    const refusals = refusalsIn(answers)
    expect(refusals).toHaveLength(49)
    // A later request finds the code used, or the challenge used or deleted.
    const allowed = [WRONG, MISMATCH, NOT_FOUND].map(([status, code, text]) => [status, errorBody(status, code, text)])
    for (const refusal of refusals) expect(allowed).toContainEqual(refusal)
    await expectFailure(app.factorId, { challenge_id, code: app.code(1) }, headers, MISMATCH)
  })

  // ASVS 6.6.2
  it('422: refuses an answer from another address than that of the challenge', async () => {
    const { app, headers, expected } = await createWithApp()
    const forwarded = { ...headers, 'x-forwarded-for': '203.0.113.7' }
    const challenge_id = await challenge(test, forwarded, app.factorId)
    await expectFailure(app.factorId, { challenge_id, code: app.code() }, headers, MISMATCH)
    expectSession(await verify(app.factorId, { challenge_id, code: app.code() }, forwarded), expected)
  })

  it('422: refuses an expired challenge and removes it', async () => {
    const { app, headers, ask } = await createWithApp()
    const challenge_id = await ask()
    test.clock.advance(299_999)
    const wrong = wrongCodes(app, 1)[0] ?? ''
    await expectFailure(app.factorId, { challenge_id, code: wrong }, headers, WRONG)
    test.clock.advance(1)
    const answer = await verify(app.factorId, { challenge_id, code: app.code() }, headers)
    expect([answer.statusCode, answer.json()]).toEqual([
      422,
      {
        code: 422,
        error_code: 'mfa_challenge_expired',
        msg: `MFA challenge ${challenge_id} has expired, verify against another challenge or create a new challenge.`,
      },
    ])
    await expectFailure(app.factorId, { challenge_id, code: app.code() }, headers, NOT_FOUND)
  })

  it('400: refuses an answer without a code', async () => {
    const { app, headers, ask } = await createWithApp()
    const challenge_id = await ask()
    const empty = [400, 'validation_failed', 'Code needs to be non-empty'] as const
    for (const code of [undefined, '']) await expectFailure(app.factorId, { challenge_id, code }, headers, empty)
  })

  it('422: refuses an unknown challenge, and the challenge of another user', async () => {
    const { app, headers } = await createWithApp()
    const other = await createWithApp()
    for (const id of [undefined, 'x', randomUUID(), await other.ask()]) {
      await expectFailure(app.factorId, { challenge_id: id, code: app.code() }, headers, NOT_FOUND)
    }
  })

  it('404: refuses the factor of another user', async () => {
    const { app, ask } = await createWithApp()
    const other = await createWithApp()
    const unknown = [404, 'mfa_factor_not_found', 'Factor not found'] as const
    await expectFailure(app.factorId, { challenge_id: await ask(), code: app.code() }, other.headers, unknown)
  })

  it('404: refuses a malformed id of a factor', async () => {
    const { headers, ask } = await createWithApp()
    const malformed = [404, 'validation_failed', 'factor_id must be an UUID'] as const
    await expectFailure('x', { challenge_id: await ask() }, headers, malformed)
  })
})
