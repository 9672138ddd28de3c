import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { addApp } from './authenticator-app.ts'
import {
  anyId,
  anyTime,
  confirmedBody,
  errorBody,
  fragmentBody,
  grantErrorBody,
  outcomeOf,
  sessionBody,
  signedUpBody,
  statusAndBody,
  unconfirmedBody,
  unknownRefreshToken,
  wrongPassword,
} from './bodies.ts'
import { expectSession, expectUser } from './expect-user.ts'
import { type AnybodyStub, begin, comeBackAs, landedBody, startAnybodyProvider } from './external/anybody-provider.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createSignedIn, type SignedIn, signIn } from './signed-in.ts'
import { createSignedUp } from './signed-up.ts'

const VERIFIER = 'v'.repeat(43)
const PKCE = {
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 's256',
}
const SETTINGS = {
  AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
  AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
  AUTH_URI_ALLOW_LIST: 'https://app.example.com/cb',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_SMTP_MAX_FREQUENCY: '0',
  AUTH_SMS_MAX_FREQUENCY: '0',
  AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  AUTH_PASSKEY_ENABLED: 'true',
  AUTH_WEBAUTHN_RP_ID: 'localhost',
  AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'Trestle',
  AUTH_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
}
const NEW_PASSWORD = 'a staple of batteries'
let people = 0

/** Sends the same requests in both profiles, and compares the answers that differ. */
const KNOWN = 'Password is known to be weak and easy to guess, please choose a different one.'
const DEAD_CODE = [403, errorBody(403, 'otp_expired', 'Token has expired or is invalid')]
const SESSION_GONE = [403, errorBody(403, 'session_not_found', 'Session from session_id claim in JWT does not exist')]

describe.each(['compatible', 'strict'] as const)('AUTH_PROFILE=%s', (profile) => {
  const isStrict = profile === 'strict'
  /** Returns the first value in the compatible profile, and the second in the strict profile. */
  const either = <T, U>(compatible: T, strict: U): T | U => (isStrict ? strict : compatible)
  const expires_in = either(3_600, 900)
  let test: MailApp
  let stub: AnybodyStub
  let email: string
  beforeAll(async () => {
    stub = await startAnybodyProvider()
    test = await openMailApp({ ...SETTINGS, ...stub.settings, AUTH_PROFILE: profile })
  })
  afterAll(async () => {
    await test.close()
    await stub.close()
  })
  beforeEach(() => {
    people += 1
    email = `${profile}${people}@example.com`
  })

  const login = (password: string) => test.post('/token?grant_type=password', { email, password })
  const change = async ({ headers }: Pick<SignedIn, 'headers'>, payload: object, { app } = test) => {
    const answer = await app.inject({ method: 'PUT', url: '/user', headers, payload })
    return outcomeOf(answer)
  }
  const landing = async (path: string) => String((await test.app.inject(path)).headers.location)

  // ASVS 6.2.1, 6.2.4, 6.2.11
  it.each([
    ['short one', 'length', 'Password should be at least 15 characters.'],
    ['PasswordPassword', 'pwned', KNOWN],
    ['12345678password', 'pwned', KNOWN],
    // The policy uses the host of the service's addresses as its name.
    ['localhost-localhost', 'pwned', KNOWN],
  ])('refuses the weak password %j only in the strict profile', async (password, reason, text) => {
    const weak = [422, errorBody(422, 'weak_password', text, { weak_password: { reasons: [reason] } })]
    expect(outcomeOf(await test.post('/signup', { email, password }))).toEqual(either(200, weak))
    expectUser(await test.post('/signup', { email: `x${email}`, password: NEW_PASSWORD }), unconfirmedBody(`x${email}`))
    // An admin cannot set such a password for a new user either.
    const made = await test.post('/admin/users', { email: `a${email}`, password }, OPERATOR)
    expect(outcomeOf(made)).toEqual(either(200, weak))
  })

  it('reveals an unconfirmed signup only in the compatible profile', async () => {
    const owner = await createSignedUp(test.deps)
    const password = 'a password of a stranger'
    const attempt = async (payload: object) => {
      await test.post('/signup', { ...payload, password })
      const answer = await test.post('/token?grant_type=password', { ...payload, password })
      return [answer.statusCode, answer.json()]
    }
    const taken = await attempt({ email: owner.email })
    expect(taken).toEqual(wrongPassword)
    const unconfirmed = [400, grantErrorBody('invalid_grant', 'email_not_confirmed', 'Email not confirmed')]
    expect(await attempt({ email })).toEqual(either(unconfirmed, taken))
    const { token } = await test.readMail(email)
    await test.post('/verify', { type: 'signup', token_hash: token, password })
    expectSession(await login(password), confirmedBody(anyId, email, { confirmation_sent_at: anyTime }), { expires_in })
  })

  // ASVS 10.4.1
  it('permits any address on the host of AUTH_SITE_URL only in the compatible profile', async () => {
    const target = async (redirect: string) =>
      (await landing(`/verify?type=signup&token=x&redirect_to=${encodeURIComponent(redirect)}`)).split('#')[0]
    expect(await target('http://localhost:9999/elsewhere')).toBe(
      either('http://localhost:9999/elsewhere', 'http://localhost:3000/'),
    )
    expect(await target('https://app.example.com/cb')).toBe('https://app.example.com/cb')
  })

  // ASVS 10.1.1, 10.1.2, 10.4.4, 10.4.6, 14.2.1
  it('refuses a sign-in at a provider without S256 only in the strict profile', async () => {
    const start = async (query: object) =>
      statusAndBody(await test.app.inject(`/authorize?${new URLSearchParams({ provider: 'keycloak', ...query })}`))
    const begun = [302, '']
    const text = 'Only PKCE flows are taken: send code_challenge and code_challenge_method'
    expect(await start({})).toEqual(either(begun, [400, errorBody(400, 'validation_failed', text)]))
    expect(await start({ ...PKCE, code_challenge_method: 'plain' })).toEqual(
      either(begun, [400, errorBody(400, 'validation_failed', 'unsupported code_challenge_method "plain"')]),
    )
    expect(await start(PKCE)).toEqual(begun)
  })

  // ASVS 10.4.4
  it('refuses a sign-in that began without PKCE only in the strict profile', async () => {
    const begun = await landing(`/authorize?${new URLSearchParams({ provider: 'keycloak', ...PKCE })}`)
    const state = new URL(begun).searchParams.get('state') ?? ''
    const implicit = { code_challenge: null, code_challenge_method: null }
    await test.deps.db.updateTable('flow_state').set(implicit).where('id', '=', state).execute()
    const { fragment, query } = await comeBackAs(test, state, { sub: `1${people}`, email, verified: true })
    expect(fragment).toEqual(either(landedBody('keycloak'), {}))
    const text = 'Only PKCE flows are taken: send code_challenge and code_challenge_method'
    const refusal = { error: 'invalid_request', error_code: 'validation_failed', error_description: text }
    expect(query).toEqual(either({}, refusal))
  })

  // ASVS 10.1.1, 10.4.4
  it('signs in by a link without PKCE only in the compatible profile', async () => {
    await createSignedUp(test.deps, { email })
    await test.post('/magiclink', { email })
    const { link, code } = await test.readMail(email)
    const { hash } = new URL(await landing(link.pathname + link.search))
    const told = Object.fromEntries(new URLSearchParams(hash.slice(1)))
    const text = 'This link signs in only where it was asked for with PKCE, enter the code of the mail instead'
    const refusal = { error: 'invalid_request', error_code: 'validation_failed', error_description: text, sb: '' }
    const { provider: _none, ...session } = fragmentBody('', { type: 'magiclink' })
    expect(told).toEqual(either(session, refusal))
    // A refused link does not use up the code.
    const typed = await test.post('/verify', { type: 'magiclink', email, token: code })
    expect(outcomeOf(typed)).toEqual(either(DEAD_CODE, 200))
  })

  // ASVS 7.6.2, 10.4.6
  it('ends a link with PKCE in a code, in the strict profile after a button', async () => {
    await createSignedUp(test.deps, { email })
    await test.post('/magiclink', { email, ...PKCE })
    const { link } = await test.readMail(email)
    const opened = await test.app.inject(link.pathname + link.search)
    expect([opened.statusCode, opened.headers['x-redirect-refused']]).toEqual([either(303, 200), undefined])
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const pressed = isStrict ? await test.post('/verify', link.searchParams.toString(), form) : opened
    const { hash, searchParams } = new URL(String(pressed.headers.location))
    expect(hash).toBe('')
    const exchange = { auth_code: searchParams.get('code'), code_verifier: VERIFIER }
    expect((await test.post('/token?grant_type=pkce', exchange)).json().user.email).toBe(email)
  })

  // ASVS 7.4.1
  it('refuses the access token of an ended session only in the strict profile', async () => {
    const { headers } = await createSignedIn(test)
    await test.app.inject({ method: 'POST', url: '/logout', headers })
    expect(outcomeOf(await test.app.inject({ url: '/user', headers }))).toEqual(either(200, SESSION_GONE))
  })

  // ASVS 7.3.1, 7.3.2, 10.4.8
  it('ends sessions after a day, or an hour without use, only in the strict profile', async () => {
    const old = await createSignedIn(test)
    const unused = await createSignedIn(test)
    const start = (session: string, column: 'created_at' | 'refreshed_at', hours: number) =>
      test.deps.db
        .updateTable('sessions')
        .set({ [column]: new Date(Date.now() - hours * 3_600_000).toISOString() })
        .where('id', '=', session)
        .execute()
    await start(old.sessionId, 'created_at', 25)
    await start(unused.sessionId, 'refreshed_at', 2)
    for (const [{ refreshToken }, reason] of [
      [old, ''],
      [unused, ' (Inactivity)'],
    ] as const) {
      const text = `Invalid Refresh Token: Session Expired${reason}`
      const answer = await test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })
      expect(outcomeOf(answer)).toEqual(either(200, [400, grantErrorBody('invalid_grant', 'session_expired', text)]))
    }
  })

  // ASVS 10.4.5
  it('refuses an immediate reuse of a refresh token only in the strict profile', async () => {
    const { refreshToken } = await createSignedIn(test)
    const refresh = async () =>
      outcomeOf(await test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken }))
    const reused = [
      400,
      grantErrorBody('invalid_grant', 'refresh_token_already_used', 'Invalid Refresh Token: Already Used'),
    ]
    expect([await refresh(), await refresh()]).toEqual(either([200, 200], [200, reused]))
  })

  // ASVS 6.5.5
  it('refuses a code after ten minutes only in the strict profile', async () => {
    await createSignedUp(test.deps, { email })
    await test.post('/otp', { email })
    const { code } = await test.readMail(email)
    test.clock.advance(601_000)
    const late = await test.post('/verify', { type: 'email', email, token: code })
    expect(outcomeOf(late)).toEqual(either(200, DEAD_CODE))
  })

  // ASVS 7.5.1
  it('needs the second factor to link and unlink only in the strict profile', async () => {
    const signedIn = await createSignedIn(test)
    const { headers: steppedUp } = await addApp(test, signedIn.headers)
    const again = await signIn(test, signedIn)
    const begin = ({ headers }: Pick<SignedIn, 'headers'>) =>
      test.app.inject({
        url: `/user/identities/authorize?${new URLSearchParams({ provider: 'keycloak', ...PKCE })}`,
        headers,
      })
    const needsFactor = [
      403,
      errorBody(403, 'insufficient_aal', 'AAL2 session is required to manage identities when MFA is enabled'),
    ]
    const [low, high] = [await begin(again), await begin({ headers: steppedUp })]
    expect(statusAndBody(low)).toEqual(either([302, ''], needsFactor))
    expect(high.statusCode).toBe(302)
    const state = new URL(String(high.headers.location)).searchParams.get('state') ?? ''
    const { query } = await comeBackAs(test, state, { sub: `1${people}`, email, verified: true })
    await test.post('/token?grant_type=pkce', { auth_code: query.code, code_verifier: VERIFIER })
    const { identities } = (await test.app.inject({ url: '/user', headers: steppedUp })).json()
    const url = `/user/identities/${identities[1].identity_id}`
    const taken = await test.app.inject({ method: 'DELETE', url, headers: again.headers })
    expect(outcomeOf(taken)).toEqual(either(200, needsFactor))
  })

  // ASVS 10.1.2
  it('links the account of another browser before the exchange only in the compatible profile', async () => {
    const stranger = await createSignedIn(test)
    const url = `/user/identities/authorize?${new URLSearchParams({ provider: 'keycloak', ...PKCE })}`
    const begin = async () => {
      const { location } = (await test.app.inject({ url, headers: stranger.headers })).headers
      return new URL(String(location)).searchParams.get('state') ?? ''
    }
    const owner = { sub: `8${people}`, email, verified: true }
    const landed = await comeBackAs(test, await begin(), owner)
    const { identities } = (await test.app.inject({ url: '/user', headers: stranger.headers })).json()
    expect(identities).toHaveLength(either(2, 1))
    // Another browser began the flow, so the browser that came back cannot end it.
    const exchange = async (code: string | undefined, code_verifier = VERIFIER) =>
      (await test.post('/token?grant_type=pkce', { auth_code: code, code_verifier })).json()
    expect(await exchange(landed.query.code, 'a guess'.repeat(7))).toEqual(
      grantErrorBody(
        'invalid_grant',
        'bad_code_verifier',
        'code challenge does not match previously saved code verifier',
      ),
    )
    expect((await exchange(landed.query.code)).user.identities).toHaveLength(2)
    const again = (await comeBackAs(test, await begin(), owner)).query
    const [error_code, text] = ['identity_already_exists', 'Identity is already linked']
    expect(isStrict ? await exchange(again.code) : again).toEqual(
      either(
        { error: 'server_error', error_code, error_description: text },
        grantErrorBody('invalid_request', error_code, text, 422),
      ),
    )
  })

  // ASVS 6.2.3, 7.5.1
  it('needs the current password for a new one only in the strict profile', async () => {
    const signedIn = await createSignedIn(test)
    const { password: current_password } = signedIn
    const text = 'Current password required when setting new password.'
    const refusal = (code: string) => [400, errorBody(400, code, text)]
    expect(await change(signedIn, { password: NEW_PASSWORD, current_password: 'not this one' })).toEqual(
      either(200, refusal('current_password_invalid')),
    )
    expect(await change(signedIn, { password: 'another one of them' })).toEqual(
      either(200, refusal('current_password_required')),
    )
    expect(await change(signedIn, { password: 'the last one of them', current_password })).toEqual(200)
  })

  it('voids the password of a stranger once the owner of the address has signed in', async () => {
    await test.post('/signup', { email, password: 'that of a stranger' })
    await test.readMail(email)
    await test.post('/otp', { email })
    const { code } = await test.readMail(email)
    expectSession(
      await test.post('/verify', { type: 'email', email, token: code }),
      confirmedBody(anyId, email, { confirmation_sent_at: anyTime, recovery_sent_at: anyTime }),
      { type: 'magiclink', expires_in },
    )
    expect(statusAndBody(await login('that of a stranger'))).toEqual(wrongPassword)
  })

  // ASVS 7.5.1
  it('refuses changes of credentials in an old session only in the strict profile', async () => {
    const signedIn = await createSignedIn(test)
    const other = await createSignedIn(test)
    const { app, headers: steppedUp } = await addApp(test, other.headers)
    await test.deps.db
      .updateTable('mfa_amr_claims')
      .set({ updated_at: new Date('2020-01-01') })
      .where('session_id', 'in', [signedIn.sessionId, other.sessionId])
      .execute()
    const authorize = `/user/identities/authorize?${new URLSearchParams({ provider: 'keycloak', ...PKCE })}`
    const requests = [
      { method: 'PUT', url: '/user', payload: { email: `new${email}` } },
      { method: 'PUT', url: '/user', payload: { password: NEW_PASSWORD, current_password: signedIn.password } },
      { method: 'POST', url: '/factors', payload: { factor_type: 'totp' } },
      { method: 'POST', url: '/passkeys/registration/options' },
      { method: 'GET', url: authorize },
      { method: 'POST', url: '/factors/recovery-codes', headers: steppedUp },
      { method: 'DELETE', url: `/factors/${app.factorId}`, headers: steppedUp },
    ] as const
    const refused = { status: 400, code: 'reauthentication_needed' }
    for (const request of requests) {
      const answer = await test.app.inject({ headers: signedIn.headers, ...request })
      const code = answer.body.startsWith('{') ? answer.json().error_code : undefined
      const taken = { status: request.url === authorize ? 302 : 200, code: undefined }
      expect({ url: request.url, status: answer.statusCode, code }).toEqual({
        url: request.url,
        ...either(taken, refused),
      })
    }
    expect(await change(signedIn, { data: { name: 'Ada' } })).toEqual(200)
    expect(
      await change(await signIn(test, { ...signedIn, password: either(NEW_PASSWORD, signedIn.password) }), { email }),
    ).toEqual(200)
  })

  it('ends an anonymous session when the owner confirms its address', async () => {
    const { access_token: token, refresh_token } = (await test.post('/signup', {})).json()
    const stranger = { headers: { authorization: `Bearer ${token}` } }
    expect(await change(stranger, { email, password: 'that of a stranger' })).toEqual(200)
    const { code } = await test.readMail(email)
    expectSession(
      await test.post('/verify', { type: 'email_change', email, token: code }),
      confirmedBody(anyId, email),
      { type: 'email_change', expires_in },
    )
    const shown = await test.app.inject({ url: '/user', headers: stranger.headers })
    // In the compatible profile, an access token outlives its session, but the refresh token does not.
    expect(outcomeOf(shown)).toEqual(either(200, SESSION_GONE))
    expect(outcomeOf(await test.post('/token?grant_type=refresh_token', { refresh_token }))).toEqual(
      unknownRefreshToken,
    )
    expect(outcomeOf(await login('that of a stranger'))).toEqual(wrongPassword)
  })

  it('unlinks the unverified identity of a stranger only in the strict profile', async () => {
    const stranger = { sub: `9${people}`, email, verified: false }
    const signInAsStranger = async () => (await comeBackAs(test, await begin(test, 'keycloak', PKCE), stranger)).query
    const text = 'Unverified email with keycloak. A confirmation email has been sent to your keycloak email'
    const unverified = {
      error: 'access_denied',
      error_code: 'provider_email_needs_verification',
      error_description: text,
    }
    expect(await signInAsStranger()).toEqual(unverified)
    const { code } = await test.readMail(email)
    const { user } = (await test.post('/verify', { type: 'signup', email, token: code })).json()
    expect(user.identities.map((identity: { provider: string }) => identity.provider)).toEqual(
      either(['keycloak'], ['email']),
    )
    expect(user.app_metadata.providers).toEqual(either(['keycloak'], ['email']))
    expect(await signInAsStranger()).toEqual(either({ code: anyId }, unverified))
  })

  it('drops the pending phone of an anonymous user when the owner confirms', async () => {
    const { access_token: token } = (await test.post('/signup', {})).json()
    const phone = '14155550100'
    expect(await change({ headers: { authorization: `Bearer ${token}` } }, { email, phone })).toEqual(200)
    await test.sms.read(phone)
    const { code } = await test.readMail(email)
    expectSession(
      await test.post('/verify', { type: 'email_change', email, token: code }),
      confirmedBody(anyId, email),
      { type: 'email_change', expires_in },
    )
    expect(statusAndBody(await test.post('/resend', { type: 'phone_change', email }))).toEqual([
      200,
      { message_id: anyId },
    ])
    await test.idle()
    expect(test.sms.messages.filter(({ to }) => to === phone)).toHaveLength(1)
  })

  // ASVS 6.4.1
  it('keeps the password of the confirmation only in the strict profile', async () => {
    await test.post('/signup', { email, password: 'that of a stranger' })
    const { code } = await test.readMail(email)
    const answer = await test.post('/verify', { type: 'signup', email, token: code, password: NEW_PASSWORD })
    expectSession(answer, confirmedBody(anyId, email, { confirmation_sent_at: anyTime }), {
      type: 'signup',
      expires_in,
    })
    expect(outcomeOf(await login('that of a stranger'))).toEqual(either(200, wrongPassword))
    expect(outcomeOf(await login(NEW_PASSWORD))).toEqual(either(wrongPassword, 200))
  })

  // ASVS 6.3.3
  it('ends a session of aal1 after 15 minutes when its user has a factor, only in the strict profile', async () => {
    const signedIn = await createSignedIn(test)
    await addApp(test, signedIn.headers)
    const { sessionId, refreshToken } = await signIn(test, signedIn)
    const created_at = new Date(Date.now() - 16 * 60_000)
    await test.deps.db.updateTable('sessions').set({ created_at }).where('id', '=', sessionId).execute()
    const answer = await test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })
    const text = 'Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)'
    expect(outcomeOf(answer)).toEqual(either(200, [400, grantErrorBody('invalid_grant', 'session_expired', text)]))
  })

  it('sends notifications by default only in the strict profile', async () => {
    const signedIn = await createSignedIn(test)
    await change(signedIn, { password: NEW_PASSWORD, current_password: signedIn.password })
    await test.idle()
    expect(test.recipients().includes(signedIn.email)).toBe(isStrict)
  })

  // ASVS 6.2.8, 6.2.9, 6.2.10
  it('accepts a password of 64 characters exactly as it was sent, also after ten years', async () => {
    // Open a separate service, because no other test may run ten years later.
    const later = await openMailApp({ ...SETTINGS, ...stub.settings, AUTH_PROFILE: profile })
    onTestFinished(() => later.close())
    const signedIn = await createSignedIn(later)
    const password = ` Ä${'x'.repeat(60)}é `
    const enter = (entered: string) =>
      later.post('/token?grant_type=password', { email: signedIn.email, password: entered })
    expect(await change(signedIn, { password, current_password: signedIn.password }, later)).toEqual(200)
    later.clock.advance(10 * 365 * 86_400_000)
    for (const other of [password.trim(), password.toLowerCase(), password.normalize('NFD'), password.slice(0, 63)]) {
      expect((await enter(other)).json()).toEqual(
        grantErrorBody('invalid_grant', 'invalid_credentials', 'Invalid login credentials'),
      )
    }
    expect((await enter(password)).json()).toEqual(
      sessionBody(signedUpBody(signedIn), { expires_in: expect.any(Number) }),
    )
  })
})
