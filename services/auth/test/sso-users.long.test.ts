import { createHash } from 'node:crypto'
import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorBody, grantErrorBody, outcomeOf, statusAndBody, wrongPassword } from './bodies.ts'
import { type AnybodyStub, comeBackAs, startAnybodyProvider } from './external/anybody-provider.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createSignedIn, type SignedIn } from './signed-in.ts'

// Tests an SSO user who has left the company. The identity provider refuses them, and they try another way to sign in.
const MANAGED = [
  422,
  errorBody(422, 'user_sso_managed', 'Updating email, phone, password of a SSO account only possible via SSO'),
]
const NO_PASSKEY = [422, errorBody(422, 'validation_failed', 'SSO users cannot register passkeys')]
const NO_IDENTITY = [422, errorBody(422, 'validation_failed', 'SSO users cannot link identities')]
const WRONG_CODE = [403, errorBody(403, 'otp_expired', 'Token has expired or is invalid')]
const INVALID_LINK = [403, errorBody(403, 'otp_expired', 'Email link is invalid or has expired')]
const VERIFIER = 'v'.repeat(43)
const PKCE = {
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 's256',
}
let people = 0
let stub: AnybodyStub
beforeAll(async () => {
  stub = await startAnybodyProvider()
})
afterAll(() => stub.close())

describe.each(['compatible', 'strict', 'supabase'])('an SSO user, AUTH_PROFILE=%s', (profile) => {
  let service: MailApp
  let phone: string
  let sso: SignedIn
  beforeAll(async () => {
    service = await openMailApp({
      ...stub.settings,
      AUTH_PROFILE: profile,
      AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
      AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
      AUTH_RATE_LIMIT_SMS_SENT: 'off',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_OTP_EXP: '600',
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
      AUTH_PASSKEY_ENABLED: 'true',
      AUTH_WEBAUTHN_RP_ID: 'localhost',
      AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'Trestle',
      AUTH_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
    })
  })
  afterAll(() => service.close())
  beforeEach(async () => {
    people += 1
    phone = `1415777${1_000 + people}`
    sso = await createSignedIn(service, { phone, phone_confirmed_at: new Date('2026-01-01') })
  })

  const become = () =>
    service.deps.db.updateTable('users').set({ is_sso_user: true }).where('id', '=', sso.user.id).execute()
  const readRow = () => service.deps.db.selectFrom('users').selectAll().where('id', '=', sso.user.id).executeTakeFirst()
  const text = 'invalid flow state, no valid flow state found'
  const unknownCode =
    profile === 'supabase'
      ? [404, errorBody(404, 'flow_state_not_found', text)]
      : [404, grantErrorBody('invalid_grant', 'flow_state_not_found', text, 404)]
  const put = async (payload: object) =>
    service.app.inject({ method: 'PUT', url: '/user', headers: sso.headers, payload })
  const wrong =
    profile === 'supabase' ? [400, errorBody(400, 'invalid_credentials', 'Invalid login credentials')] : wrongPassword
  const signInByPassword = async (fields: object) =>
    outcomeOf(await service.post('/token?grant_type=password', { ...fields, password: sso.password }))

  it('422: gets no password, email, phone or use of a nonce of their own', async () => {
    await become()
    const row = await readRow()
    for (const wanted of [
      { password: 'a staple of batteries' },
      { email: `other-${phone}@example.com` },
      { phone: '14157779999' },
      { nonce: '123456' },
      { data: { name: 'Ann' }, phone: '14157779999' },
    ])
      expect(statusAndBody(await put(wanted))).toEqual(MANAGED)
    expect(await readRow()).toEqual(row)
  })

  it('200: changes their metadata, and sends the email and phone that they have', async () => {
    await become()
    const answer = await put({ data: { name: 'Bea' }, email: sso.email, phone })
    expect([answer.statusCode, answer.json().user_metadata]).toEqual([200, { name: 'Bea' }])
  })

  it('422: registers no passkey, neither asked for before nor after they became one', async () => {
    const start = () => service.post('/passkeys/registration/options', {}, sso.headers)
    const { challenge_id, options } = (await start()).json()
    await become()
    const credential = createAuthenticator('http://localhost:3000').create(options)
    expect(statusAndBody(await start())).toEqual(NO_PASSKEY)
    const finish = await service.post('/passkeys/registration/verify', { challenge_id, credential }, sso.headers)
    expect(statusAndBody(finish)).toEqual(NO_PASSKEY)
  })

  it('400: signs in by no password, of their email or of their phone', async () => {
    expect(await signInByPassword({ phone })).toBe(200)
    await become()
    expect(await signInByPassword({ phone })).toEqual(wrong)
    expect(await signInByPassword({ email: sso.email })).toEqual(wrong)
  })

  it('403: signs in by no code, not even by one that was sent before they became one', async () => {
    expect(outcomeOf(await service.post('/otp', { phone, create_user: false }))).toBe(200)
    const code = (await service.sms.read(phone)).code
    await become()
    expect(statusAndBody(await service.post('/verify', { type: 'sms', phone, token: code }))).toEqual(WRONG_CODE)
  })

  it.each(['magiclink', 'recovery'])('403: signs in by no %s link from before they became one', async (type) => {
    const link = await service.post('/admin/generate_link', { type, email: sso.email }, OPERATOR)
    const token_hash = link.json().hashed_token
    await become()
    const row = await readRow()
    expect(statusAndBody(await service.post('/verify', { type, token_hash }))).toEqual(INVALID_LINK)
    const { headers } = await service.app.inject({ url: `/verify?${new URLSearchParams({ type, token: token_hash })}` })
    expect(String(headers.location ?? '')).not.toContain('access_token')
    expect(await readRow()).toEqual(row)
  })

  it('422: links no account at a provider', async () => {
    await become()
    const url = `/user/identities/authorize?${new URLSearchParams({ provider: 'github', ...PKCE })}`
    expect(statusAndBody(await service.app.inject({ url, headers: sso.headers }))).toEqual(NO_IDENTITY)
  })

  const account = () => ({ sub: phone, email: sso.email, verified: true })
  const exchange = (auth_code: string | undefined) =>
    service.post('/token?grant_type=pkce', { auth_code, code_verifier: VERIFIER })
  /** Goes to a provider and returns with the account there. @returns the parameters at the end of the flow */
  const comeBack = async (path: string, headers = {}, meanwhile = async () => {}) => {
    const url = `${path}?${new URLSearchParams({ provider: 'keycloak', ...PKCE })}`
    const { location } = (await service.app.inject({ url, headers })).headers
    await meanwhile()
    const state = new URL(String(location)).searchParams.get('state') ?? ''
    return (await comeBackAs(service, state, account())).query
  }
  const providers = async () => {
    const rows = service.deps.db.selectFrom('identities').select('provider').where('user_id', '=', sso.user.id)
    return (await rows.orderBy('provider').execute()).map(({ provider }) => provider)
  }

  it('404: exchanges no auth code of a mail from before they became one', async () => {
    await service.post('/magiclink', { email: sso.email, ...PKCE })
    const { link } = await service.readMail(sso.email)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    // In the strict profile, a link opens a page with a button that posts its parameters.
    const { location } = (
      profile === 'strict'
        ? await service.post('/verify', link.searchParams.toString(), form)
        : await service.app.inject(link.pathname + link.search)
    ).headers
    await become()
    const code = new URL(String(location)).searchParams.get('code') ?? ''
    expect(statusAndBody(await exchange(code))).toEqual(unknownCode)
  })

  it('404: exchanges no auth code of a provider from before they became one', async () => {
    const { code } = await comeBack('/authorize')
    await become()
    expect(statusAndBody(await exchange(code))).toEqual(unknownCode)
  })

  it('200: signs in by an identity that they have already', async () => {
    await comeBack('/authorize')
    await become()
    const { code } = await comeBack('/authorize')
    expect(outcomeOf(await exchange(code))).toBe(200)
  })

  it('422: links no account at a return from a provider after they became one', async () => {
    const ended = await comeBack('/user/identities/authorize', sso.headers, async () => void (await become()))
    expect(ended.error_description).toBe('SSO users cannot link identities')
    expect(await providers()).toEqual(['email'])
  })

  it('422: links no account by an exchange after they became one, and gets no session', async () => {
    const { code } = await comeBack('/user/identities/authorize', sso.headers)
    await become()
    const linked = profile === 'strict'
    const refused = grantErrorBody('invalid_request', 'validation_failed', 'SSO users cannot link identities', 422)
    expect(statusAndBody(await exchange(code))).toEqual(linked ? [422, refused] : unknownCode)
    expect(await providers()).toEqual(linked ? ['email'] : ['email', 'keycloak'])
  })

  it('200: gets no message with a code or a link to their phone or email', async () => {
    await become()
    const before = [service.sms.messages.length, service.recipients().length]
    await service.post('/recover', { email: sso.email })
    await service.post('/otp', { email: sso.email, create_user: false })
    await service.post('/otp', { phone })
    await service.post('/resend', { type: 'sms', phone })
    await service.post('/signup', { phone, password: 'a staple of batteries' })
    await service.idle()
    expect([service.sms.messages.length, service.recipients().length]).toEqual(before)
  })
})
