import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addApp, answerChallenge, type SteppedUpSession } from '../../test/authenticator-app.ts'
import { anyTime, factorBody, grantErrorBody, signedUpBody, statusAndBody } from '../../test/bodies.ts'
import { expectSession } from '../../test/expect-user.ts'
import {
  type Anybody,
  type AnybodyStub,
  beginLinking,
  comeBackAs,
  landedBody,
  signInAs,
  startAnybodyProvider,
} from '../../test/external/anybody-provider.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, type SignedIn, signIn } from '../../test/signed-in.ts'

// A user without an email gets the email of a linked identity. An attacker with a stolen session would link their own.
let service: MailApp
let stub: AnybodyStub
let people = 0
let signedIn: SignedIn
let steppedUp: SteppedUpSession
let aal1: SignedIn['headers']
let phone: string
let thief: Anybody

beforeAll(async () => {
  stub = await startAnybodyProvider()
  const settings = {
    ...stub.settings,
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_EXTERNAL_KEYCLOAK_EMAIL_OPTIONAL: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  }
  service = await openMailApp(settings)
})
afterAll(async () => {
  await service.close()
  await stub.close()
})
beforeEach(async () => {
  people += 1
  thief = { sub: `6${people}`, email: `thief${people}@example.com`, verified: true }
  phone = `1415555${2000 + people}`
  signedIn = await createSignedIn(service)
  steppedUp = await addApp(service, signedIn.headers)
  aal1 = (await signIn(service, signedIn)).headers
  await change({
    email: null,
    email_confirmed_at: null,
    phone,
    phone_confirmed_at: new Date(),
  })
})

const change = (columns: object) =>
  service.deps.db.updateTable('users').set(columns).where('id', '=', signedIn.user.id).execute()
async function show() {
  const { email, new_email, identities } = (
    await service.app.inject({ url: '/user', headers: steppedUp.headers })
  ).json()
  return { email, new_email, providers: identities.map(({ provider }: { provider: string }) => provider) }
}
const UNCHANGED = { email: '', new_email: undefined, providers: ['email'] }
const NEEDS_FACTOR = {
  error: 'access_denied',
  error_code: 'insufficient_aal',
  error_description: 'AAL2 session is required to manage identities when MFA is enabled',
  sb: '',
}

describe('linking an identity with an address, for a user with a second factor and no email', () => {
  it.each([true, false])('403: is refused before the factor is verified, with email_verified %s', async (verified) => {
    const state = await beginLinking(service, 'keycloak', aal1)
    const { fragment } = await comeBackAs(service, state, { ...thief, verified })
    expect(fragment).toEqual(NEEDS_FACTOR)
    expect(await show()).toEqual(UNCHANGED)
    await service.idle()
    expect(service.recipients()).not.toContain(thief.email)
  })

  it('403: is refused in a flow that began before its session was stepped up', async () => {
    const state = await beginLinking(service, 'keycloak', aal1)
    service.clock.advance(60_000)
    const { factorId, code } = steppedUp.app
    expectSession(
      await answerChallenge(service, aal1, { factorId, code: code() }),
      signedUpBody(signedIn, {
        email: '',
        email_confirmed_at: undefined,
        phone,
        phone_confirmed_at: anyTime,
        factors: [factorBody({ id: factorId, last_challenged_at: anyTime })],
      }),
    )
    const { fragment } = await comeBackAs(service, state, thief)
    expect(fragment).toEqual(NEEDS_FACTOR)
  })

  it('succeeds after the factor is verified and adopts the address', async () => {
    await comeBackAs(service, await beginLinking(service, 'keycloak', steppedUp.headers), thief)
    expect(await show()).toEqual({ email: thief.email, new_email: undefined, providers: ['email', 'keycloak'] })
  })

  it('sends the mail of a change of email when the address is not verified', async () => {
    const state = await beginLinking(service, 'keycloak', steppedUp.headers)
    const { fragment } = await comeBackAs(service, state, { ...thief, verified: false })
    expect(fragment).toEqual({
      error: 'server_error',
      error_code: 'email_not_confirmed',
      error_description: 'Unverified email with keycloak. A confirmation email has been sent to your keycloak email',
      sb: '',
    })
    expect(await show()).toEqual({ email: '', new_email: thief.email, providers: ['email', 'keycloak'] })
  })

  it('succeeds without the factor for an identity without an address', async () => {
    await comeBackAs(service, await beginLinking(service, 'keycloak', aal1), { sub: thief.sub })
    expect(await show()).toEqual({ ...UNCHANGED, providers: ['email', 'keycloak'] })
  })
})

describe('linking that began before its user', () => {
  it('422: became an SSO user is refused, so that the company can shut the user out', async () => {
    const state = await beginLinking(service, 'keycloak', steppedUp.headers)
    await change({ is_sso_user: true })
    expect((await comeBackAs(service, state, thief)).fragment).toEqual({
      error: 'server_error',
      error_code: 'validation_failed',
      error_description: 'SSO users cannot link identities',
      sb: '',
    })
    expect(await show()).toEqual(UNCHANGED)
  })
})

describe('a linked identity of a user with a second factor that later returns an address', () => {
  beforeEach(async () => {
    await comeBackAs(service, await beginLinking(service, 'keycloak', aal1), { sub: thief.sub })
    // The user signs in a day later, without a confirmed email or phone.
    await change({ phone: null, phone_confirmed_at: null, created_at: new Date(0), last_sign_in_at: new Date(0) })
  })

  it('signs in without giving the account an email', async () => {
    const { fragment } = await signInAs(service, 'keycloak', thief)
    expect(fragment).toEqual(landedBody('keycloak'))
    expect(await show()).toEqual({ ...UNCHANGED, providers: ['email', 'keycloak'] })
  })

  it('does not sign in while a change of email is pending, and keeps the change', async () => {
    await change({ email: signedIn.email, email_confirmed_at: null })
    const { fragment } = await signInAs(service, 'keycloak', thief)
    expect(fragment).toEqual({
      error: 'access_denied',
      error_code: 'provider_email_needs_verification',
      error_description: 'Unverified email with keycloak. Verify the email with keycloak in order to sign in',
      sb: '',
    })
    expect(await show()).toEqual({ ...UNCHANGED, email: signedIn.email, providers: ['email', 'keycloak'] })
  })
})

describe('linking that began before its user had a second factor, in the strict profile', () => {
  const PKCE = {
    code_challenge: createHash('sha256').update('v'.repeat(43)).digest('base64url'),
    code_challenge_method: 's256',
  }
  let strict: MailApp
  let headers: SignedIn['headers']
  beforeAll(async () => {
    const settings = { AUTH_PROFILE: 'strict', AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip' }
    // The times of authentication methods come from the clock of the database.
    strict = await openMailApp(
      { ...stub.settings, ...settings, AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true' },
      { replace: () => ({ now: () => new Date() }) },
    )
  })
  afterAll(() => strict.close())

  async function startLinking(): Promise<string> {
    headers = (await createSignedIn(strict)).headers
    const url = `/user/identities/authorize?${new URLSearchParams({ provider: 'keycloak', ...PKCE })}`
    const answer = await strict.app.inject({ url, headers })
    return new URL(String(answer.headers.location)).searchParams.get('state') ?? ''
  }
  async function addFactor(): Promise<void> {
    headers = (await addApp({ ...strict, clock: { now: () => new Date(), advance: () => {} } }, headers)).headers
  }
  async function listProviders(): Promise<readonly string[]> {
    const { identities } = (await strict.app.inject({ url: '/user', headers })).json()
    return identities.map(({ provider }: { provider: string }) => provider)
  }

  it('303: ends with an error when the browser returns after the factor was added', async () => {
    const state = await startLinking()
    await addFactor()
    const { query } = await comeBackAs(strict, state, thief)
    // The flow ended when the user enrolled a first factor (reference: Work of sessions).
    expect(query).toEqual({
      error: 'invalid_request',
      error_code: 'bad_oauth_state',
      error_description: 'OAuth state not found or expired',
    })
    expect(await listProviders()).toEqual(['email'])
  })

  it('404: refuses the code after the factor was added', async () => {
    const { query } = await comeBackAs(strict, await startLinking(), thief)
    await addFactor()
    const exchange = { auth_code: query.code, code_verifier: 'v'.repeat(43) }
    const answer = await strict.post('/token?grant_type=pkce', exchange)
    expect(statusAndBody(answer)).toEqual([
      404,
      grantErrorBody('invalid_grant', 'flow_state_not_found', 'invalid flow state, no valid flow state found', 404),
    ])
    expect(await listProviders()).toEqual(['email'])
  })
})

describe('linking an identity to an anonymous user', () => {
  it.each([
    ['makes the user permanent when the provider tells no address', undefined, false],
    ['leaves the user anonymous until an address is confirmed', 'unverified', true],
  ])('keeps the rule of anonymous users: %s', async (_, address, isAnonymous) => {
    const { access_token, user } = (await service.post('/signup', {})).json()
    const state = await beginLinking(service, 'keycloak', { authorization: `Bearer ${access_token}` })
    await comeBackAs(service, state, address === undefined ? { sub: thief.sub } : { ...thief, verified: false })
    const query = service.deps.db.selectFrom('users').select(['email', 'is_anonymous']).where('id', '=', user.id)
    expect(await query.executeTakeFirst()).toEqual({ email: null, is_anonymous: isAnonymous })
    const identities = service.deps.db.selectFrom('identities').select('provider').where('user_id', '=', user.id)
    expect(await identities.execute()).toEqual([{ provider: 'keycloak' }])
  })
})
