import { createHash } from 'node:crypto'
import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addApp, answerChallenge, claimsOf } from '../../test/authenticator-app.ts'
import { amrEntry, anyId, anyTime, errorBody, outcomeOf, statusAndBody, wrongPassword } from '../../test/bodies.ts'
import {
  type AnybodyStub,
  beginLinking,
  comeBackAs,
  signInAs,
  startAnybodyProvider,
} from '../../test/external/anybody-provider.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, type SignedIn, signIn } from '../../test/signed-in.ts'

// The attacker has a stolen session, but neither the password nor the mailbox of its user.
type Headers = { readonly authorization: string }

const SETTINGS = {
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
  AUTH_SMTP_MAX_FREQUENCY: '0',
  AUTH_SMS_MAX_FREQUENCY: '0',
  AUTH_SMS_OTP_EXP: '600',
  AUTH_PASSKEY_ENABLED: 'true',
  AUTH_WEBAUTHN_RP_ID: 'localhost',
  AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'Trestle',
  AUTH_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
}
const VERIFIER = 'v'.repeat(43)
const PKCE = {
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 's256',
}
const NEW_PASSWORD = 'a staple of batteries'
const DONE = 200
const needsReauthentication = (text: string) => [400, errorBody(400, 'reauthentication_needed', text)]
const SIGN_IN_AGAIN = needsReauthentication('Sign in again to change how you sign in')
let people = 0
let test: MailApp
let stub: AnybodyStub
let signedIn: SignedIn
let phone: string
let thief: string

function useService(settings: Readonly<Record<string, string>>) {
  beforeAll(async () => {
    stub = await startAnybodyProvider()
    // The times of authentication methods come from the clock of the database.
    test = await openMailApp(
      { ...SETTINGS, ...stub.settings, ...settings },
      { replace: () => ({ now: () => new Date() }) },
    )
  })
  afterAll(async () => {
    await test.close()
    await stub.close()
  })
  beforeEach(async () => {
    people += 1
    phone = `1415555${1000 + people}`
    thief = `thief${people}@example.com`
    signedIn = await createSignedIn(test)
  })
}

const bearer = (token: unknown): Headers => ({ authorization: `Bearer ${token}` })
const put = async (headers: Headers, payload: object): Promise<unknown> => {
  const answer = await test.app.inject({ method: 'PUT', url: '/user', headers, payload })
  return outcomeOf(answer)
}
const setPassword = (headers: Headers, more: object = {}) => put(headers, { password: NEW_PASSWORD, ...more })

async function verify(payload: object): Promise<Headers> {
  const answer = await test.post('/verify', payload)
  expect(answer.statusCode).toBe(200)
  return bearer(answer.json().access_token)
}

async function takePhone(headers: Headers): Promise<Headers> {
  expect(await put(headers, { phone })).toEqual(DONE)
  return verify({ type: 'phone_change', phone, token: (await test.sms.read(phone)).code })
}

async function signInByPhone(): Promise<Headers> {
  expect(statusAndBody(await test.post('/otp', { phone }))).toEqual([200, {}])
  return verify({ type: 'sms', phone, token: (await test.sms.read(phone)).code })
}

async function signInByMail(path: '/recover' | '/magiclink', email: string): Promise<Headers> {
  await test.post(path, { email })
  const type = path === '/recover' ? 'recovery' : 'magiclink'
  return verify({ type, email, token: (await test.readMail(email)).code })
}

async function takeEmail(headers: Headers): Promise<Headers> {
  expect(await put(headers, { email: thief })).toEqual(DONE)
  return verify({ type: 'email_change', email: thief, token: (await test.readMail(thief)).code })
}

async function signInByNewPasskey(headers: Headers): Promise<Headers> {
  const key = createAuthenticator('http://localhost:3000')
  const asked = (await test.post('/passkeys/registration/options', {}, headers)).json()
  const made = { challenge_id: asked.challenge_id, credential: key.create(asked.options) }
  const added = { id: anyId, friendly_name: 'Passkey', created_at: anyTime }
  expect(statusAndBody(await test.post('/passkeys/registration/verify', made, headers))).toEqual([200, added])
  const { challenge_id, options } = (await test.post('/passkeys/authentication/options', {})).json()
  const shown = await test.post('/passkeys/authentication/verify', { challenge_id, credential: key.get(options) })
  expect(shown.statusCode).toBe(200)
  return bearer(shown.json().access_token)
}

/** Moves all times of the account into the past. */
async function age(interval: string) {
  const back = sql`- ${interval}::interval`
  await sql`UPDATE ${sql.table('address_changes')} SET changed_at = changed_at ${back}`.execute(test.deps.db)
  await sql`UPDATE ${sql.table('mfa_amr_claims')} SET credential_since = credential_since ${back}`.execute(test.deps.db)
}

describe.each(['compatible', 'strict'])(
  'PUT /user with a password that needs the current one, AUTH_PROFILE=%s',
  (profile) => {
    useService({
      AUTH_PROFILE: profile,
      AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
      AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true',
    })
    const text = 'Current password required when setting new password.'
    const REFUSED = [400, errorBody(400, 'current_password_required', text)]
    /** In the strict profile, a new credential does not make a session fresh. */
    const refused = () => (profile === 'strict' ? SIGN_IN_AGAIN : REFUSED)

    it('200: accepts a session by a code to an earlier confirmed address', async () => {
      expect(await setPassword(await signInByMail('/recover', signedIn.email))).toEqual(DONE)
    })

    it('400: refuses the session of a change of phone, and a session by a code to the new phone', async () => {
      expect(await setPassword(signedIn.headers)).toEqual(REFUSED)
      expect(await setPassword(await takePhone(signedIn.headers))).toEqual(refused())
      expect(await setPassword(await signInByPhone())).toEqual(refused())
      const answer = await test.post('/token?grant_type=password', { ...signedIn, password: NEW_PASSWORD })
      expect(statusAndBody(answer)).toEqual(wrongPassword)
    })

    it('400: refuses the session of a change of email, and a session by a mail to the new address', async () => {
      expect(await put(signedIn.headers, { email: thief })).toEqual(DONE)
      const first = { type: 'email_change', email: signedIn.email, token: (await test.readMail(signedIn.email)).code }
      const text = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'
      expect(statusAndBody(await test.post('/verify', first))).toEqual([200, { code: '200', msg: text }])
      const changed = await verify({ type: 'email_change', email: thief, token: (await test.readMail(thief)).code })
      expect(await setPassword(changed)).toEqual(refused())
      expect(await setPassword(await signInByMail('/recover', thief))).toEqual(refused())
      expect(await setPassword(await signInByMail('/magiclink', thief))).toEqual(refused())
    })

    it('200: accepts a session by a code to a phone that was added a day before', async () => {
      await takePhone(signedIn.headers)
      await age('24 hours')
      expect(await setPassword(await signInByPhone())).toEqual(DONE)
    })

    it('200: the session has the change as its authentication method', async () => {
      const methods = ({ authorization }: Headers) => claimsOf(authorization).amr
      expect(methods(await takePhone(signedIn.headers))).toEqual([amrEntry('phone_change')])
      expect(methods(await signInByPhone())).toEqual([amrEntry('otp')])
    })
  },
)

describe('PUT /user with a password that needs reauthentication, in a session of three days', () => {
  useService({
    AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
    AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  })
  const REFUSED = needsReauthentication('Password update requires reauthentication')
  beforeEach(async () => {
    const { db } = test.deps
    const days = sql`now() - interval '3 days'`
    await sql`UPDATE ${sql.table('sessions')} SET created_at = ${days} WHERE id = ${signedIn.sessionId}`.execute(db)
    await sql`UPDATE ${sql.table('users')} SET created_at = ${days} WHERE id = ${signedIn.user.id}`.execute(db)
    const ofSession = sql`session_id = ${signedIn.sessionId}`
    await sql`UPDATE ${sql.table('mfa_amr_claims')} SET updated_at = ${days} WHERE ${ofSession}`.execute(db)
    expect(await setPassword(signedIn.headers)).toEqual(REFUSED)
  })

  it('200: accepts a new sign-in by an address that the user had before', async () => {
    expect(await setPassword((await signIn(test, signedIn)).headers)).toEqual(DONE)
    expect(await setPassword(await signInByMail('/magiclink', signedIn.email), { password: 'another one' })).toEqual(
      DONE,
    )
  })

  it('400: refuses a sign-in by a new passkey', async () => {
    const headers = await signInByNewPasskey(signedIn.headers)
    expect(await setPassword(headers)).toEqual(REFUSED)
    await age('24 hours')
    expect(await setPassword(headers)).toEqual(DONE)
  })

  it('400: refuses a sign-in by a newly linked identity', async () => {
    const account = { sub: `3${people}`, email: thief, verified: true }
    const linked = await comeBackAs(test, await beginLinking(test, 'keycloak', signedIn.headers), account)
    expect(await setPassword(bearer(linked.fragment.access_token))).toEqual(REFUSED)
    const again = bearer((await signInAs(test, 'keycloak', account)).fragment.access_token)
    expect(await setPassword(again)).toEqual(REFUSED)
    await age('24 hours')
    expect(await setPassword(again)).toEqual(DONE)
  })

  it('200: accepts a sign-in by the first identity of the account', async () => {
    const account = { sub: `4${people}`, email: thief, verified: true }
    await signInAs(test, 'keycloak', account)
    const again = await signInAs(test, 'keycloak', account)
    expect(await setPassword(bearer(again.fragment.access_token))).toEqual(DONE)
  })

  it('400: refuses a sign-in by an email that was changed just now', async () => {
    expect(await setPassword(await takeEmail(signedIn.headers))).toEqual(REFUSED)
    for (const path of ['/recover', '/magiclink'] as const) {
      expect(await setPassword(await signInByMail(path, thief))).toEqual(REFUSED)
    }
  })

  it('422: sends no nonce to an email that was changed just now', async () => {
    await takeEmail(signedIn.headers)
    const asked = await test.app.inject({ url: '/reauthenticate', headers: signedIn.headers })
    const text = 'Your address was changed less than a day ago: sign in again instead'
    expect(statusAndBody(asked)).toEqual([422, errorBody(422, 'address_changed_recently', text)])
    await test.idle()
    // Only the mail of the change was sent.
    expect(test.recipients().filter((to) => to === thief)).toHaveLength(1)
    await age('24 hours')
    expect(statusAndBody(await test.app.inject({ url: '/reauthenticate', headers: signedIn.headers }))).toEqual([
      200,
      {},
    ])
  })

  it('422: refuses a nonce from before the change of email', async () => {
    await test.app.inject({ url: '/reauthenticate', headers: signedIn.headers })
    const nonce = /\d{6}/.exec((await test.readMail(signedIn.email)).mail.subject ?? '')?.[0]
    await takeEmail(signedIn.headers)
    expect(await setPassword(signedIn.headers, { nonce })).toEqual([
      422,
      errorBody(422, 'reauthentication_not_valid', 'Nonce has expired or is invalid'),
    ])
  })

  it('400: refuses a code to a phone that was changed just now, and sends the nonce to the email', async () => {
    expect(await setPassword(await takePhone(signedIn.headers))).toEqual(REFUSED)
    expect(await setPassword(await signInByPhone())).toEqual(REFUSED)
    await test.app.inject({ url: '/reauthenticate', headers: signedIn.headers })
    expect((await test.readMail(signedIn.email)).mail.subject).toMatch(/is your verification code$/)
  })

  it("422: never adopts the address of a newly linked identity as the user's own", async () => {
    await comeBackAs(test, await beginLinking(test, 'keycloak', signedIn.headers), {
      sub: `5${people}`,
      email: thief,
      verified: true,
    })
    const { body } = await test.app.inject({ url: '/user', headers: signedIn.headers })
    const own = JSON.parse(body).identities.find(({ provider }: { provider: string }) => provider === 'email')
    const url = `/user/identities/${own.identity_id}`
    const answer = await test.app.inject({ method: 'DELETE', url, headers: signedIn.headers })
    const text = 'Unable to unlink identity due to email conflict'
    expect(statusAndBody(answer)).toEqual([422, errorBody(422, 'email_conflict_identity_not_deletable', text)])
    expect(await setPassword(await signInByMail('/magiclink', signedIn.email))).toEqual(DONE)
  })

  it('200: accepts a mail to an address that an admin has set just now', async () => {
    await takeEmail(signedIn.headers)
    const payload = { email: `set${thief}`, email_confirm: true }
    await test.app.inject({ method: 'PUT', url: `/admin/users/${signedIn.user.id}`, headers: OPERATOR, payload })
    expect(await setPassword(await signInByMail('/magiclink', payload.email))).toEqual(DONE)
  })

  it('200: accepts an anonymous user with a first address', async () => {
    const anonymous = (await test.post('/signup', {})).json()
    expect(await setPassword(await takeEmail(bearer(anonymous.access_token)))).toEqual(DONE)
  })
})

describe('a change in the strict profile, which needs a sign-in of the last 15 minutes', () => {
  useService({ AUTH_PROFILE: 'strict', AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip' })
  const REFUSED = SIGN_IN_AGAIN

  it('400: refuses a session by a new passkey, until the passkey is older', async () => {
    const headers = await signInByNewPasskey(signedIn.headers)
    expect(await put(headers, { phone })).toEqual(REFUSED)
    await age('15 minutes')
    expect(await put(headers, { phone })).toEqual(DONE)
  })

  it('200: accepts the session of a linked identity for as long as the session before it', async () => {
    const account = { sub: `6${people}`, email: thief, verified: true }
    const url = `/user/identities/authorize?${new URLSearchParams({ provider: 'keycloak', ...PKCE })}`
    const begun = await test.app.inject({ url, headers: signedIn.headers })
    const state = new URL(String(begun.headers.location)).searchParams.get('state') ?? ''
    const { query } = await comeBackAs(test, state, account)
    const exchange = { auth_code: query.code, code_verifier: VERIFIER }
    const session = (await test.post('/token?grant_type=pkce', exchange)).json()
    const headers = bearer(session.access_token)
    expect(await put(headers, { phone })).toEqual(DONE)
    const stale = sql`updated_at - interval '1 hour'`
    const claims = sql`${sql.table('mfa_amr_claims')} SET updated_at = ${stale} WHERE authentication_method = 'password'`
    await sql`UPDATE ${claims}`.execute(test.deps.db)
    expect(await put(headers, { phone: `1415666${1000 + people}` })).toEqual(REFUSED)
  })

  it('400: refuses a session that was stepped up by a new second factor', async () => {
    const steppedUp = await addApp({ ...test, clock: { now: () => new Date(), advance: () => {} } }, signedIn.headers)
    const stale = sql`updated_at - interval '1 hour'`
    const claims = sql`${sql.table('mfa_amr_claims')} SET updated_at = ${stale} WHERE authentication_method = 'password'`
    await sql`UPDATE ${claims}`.execute(test.deps.db)
    expect(await put(steppedUp.headers, { phone })).toEqual(REFUSED)
    const { factorId } = steppedUp.app
    const again = await answerChallenge(test, steppedUp.headers, { factorId, code: steppedUp.app.code(1) })
    expect(again.statusCode).toBe(200)
    expect(await put(bearer(again.json().access_token), { phone })).toEqual(REFUSED)
    await age('15 minutes')
    expect(await put(bearer(again.json().access_token), { phone })).toEqual(DONE)
  })
})
