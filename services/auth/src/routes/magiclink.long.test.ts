import { afterAll, describe, expect, it } from 'vitest'
import {
  anyId,
  anyTime,
  confirmedBody,
  emailIdentity,
  errorBody,
  grantErrorBody,
  sessionBody,
  signedUpBody,
  statusAndBody,
  userBody,
} from '../../test/bodies.ts'
import { openBeside, openMailApp } from '../../test/mail-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'

const main = await openMailApp({ AUTH_RATE_LIMIT_EMAIL_SENT: 'off' })
const { clock, deps } = main

afterAll(() => main.close())

const EXPIRED = errorBody(403, 'otp_expired', 'Email link is invalid or has expired')
const ask = (body: object) => main.post('/magiclink', body)
const verify = (body: object) => main.post('/verify', body)
const rowsOf = (email: string) => deps.db.selectFrom('users').selectAll().where('email', '=', email).execute()
const timestamp = (date: Date) => date.toISOString().replace('Z', '000+00:00')

describe('POST /magiclink', () => {
  it('200: sends a mail with a link and a code to a user', async () => {
    const { user, email, password } = await createSignedUp(deps)
    const answer = await ask({ email, data: { name: 'Mallory' } })
    expect([answer.statusCode, answer.json()]).toEqual([200, {}])
    const { mail, link, token, code } = await main.readMail(email)
    expect(mail.subject).toBe('Your sign-in link')
    expect(link.href).toBe(
      `http://localhost:8081/verify?token=${token}&type=magiclink&redirect_to=http://localhost:3000`,
    )
    expect((await verify({ type: 'magiclink', token: code, email })).json()).toEqual(
      sessionBody(signedUpBody({ user, email }, { recovery_sent_at: anyTime }), { type: 'magiclink' }),
    )
    expect((await main.post('/token?grant_type=password', { email, password })).json()).toEqual(
      sessionBody(signedUpBody({ user, email }, { recovery_sent_at: anyTime })),
    )
  })

  it('200: an unknown address becomes a user only when its link is used', async () => {
    const email = 'new@example.com'
    await ask({ email, data: { name: 'Grace' } })
    const { token } = await main.readMail(email)
    expect(
      (await rowsOf(email)).map(({ staged_at, email_confirmed_at }) => ({ staged_at, email_confirmed_at })),
    ).toEqual([{ staged_at: timestamp(clock.now()), email_confirmed_at: null }])
    expect(statusAndBody(await main.post('/token?grant_type=password', { email, password: 'x' }))).toEqual([
      400,
      grantErrorBody('invalid_grant', 'invalid_credentials', 'Invalid login credentials'),
    ])
    clock.advance(5_000)
    const at = timestamp(clock.now())
    const answer = await verify({ type: 'magiclink', token_hash: token })
    expect(statusAndBody(answer)).toEqual([
      200,
      sessionBody(
        userBody({
          email,
          email_confirmed_at: at,
          confirmed_at: anyTime,
          recovery_sent_at: anyTime,
          user_metadata: { name: 'Grace' },
          identities: [emailIdentity(anyId, email, { name: 'Grace', email_verified: true })],
          created_at: at,
        }),
        { type: 'magiclink' },
      ),
    ])
    expect((await rowsOf(email)).map(({ staged_at }) => ({ staged_at }))).toEqual([{ staged_at: null }])
  })

  it('200: makes an anonymous user permanent when an admin has set the address', async () => {
    const { user, email } = await createSignedUp(deps, { is_anonymous: true, email_confirmed_at: null })
    await ask({ email })
    const { token } = await main.readMail(email)
    const answer = await verify({ type: 'magiclink', token_hash: token })
    const permanent = signedUpBody({ user, email }, { recovery_sent_at: anyTime })
    expect(statusAndBody(answer)).toEqual([200, sessionBody(permanent, { type: 'magiclink' })])
  })

  it('200: verifies a pending sign-up as a signup without a password', async () => {
    const email = 'staged@example.com'
    await ask({ email })
    const { code } = await main.readMail(email)
    expect(statusAndBody(await verify({ type: 'signup', token: code, email }))).toEqual([
      200,
      sessionBody(confirmedBody(anyId, email, { recovery_sent_at: anyTime }), { type: 'signup' }),
    ])
  })

  it('200: a second request replaces the metadata of the pending sign-up', async () => {
    const email = 'again@example.com'
    await ask({ email, data: { name: 'Grace' } })
    const old = await main.readMail(email)
    clock.advance(60_000)
    await ask({ email })
    const { token } = await main.readMail(email)
    expect((await rowsOf(email)).map(({ staged_at }) => ({ staged_at }))).toEqual([
      { staged_at: timestamp(clock.now()) },
    ])
    expect(statusAndBody(await verify({ type: 'magiclink', token_hash: old.token }))).toEqual([403, EXPIRED])
    expect(statusAndBody(await verify({ type: 'magiclink', token_hash: token }))).toEqual([
      200,
      sessionBody(confirmedBody(anyId, email, { recovery_sent_at: anyTime }), { type: 'magiclink' }),
    ])
  })

  it('200: the address of a pending sign-up does not block a signup', async () => {
    const email = 'signup@example.com'
    await ask({ email, data: { name: 'Mallory' } })
    await main.readMail(email)
    const [pending] = await rowsOf(email)
    await main.post('/signup', { email, password: 'correct horse' })
    const { token } = await main.readMail(email)
    const answer = await verify({ type: 'signup', token_hash: token })
    const [made] = await rowsOf(email)
    expect(made?.id).not.toBe(pending?.id)
    const user = confirmedBody(made?.id, email, { confirmation_sent_at: anyTime })
    expect(statusAndBody(answer)).toEqual([200, sessionBody(user, { type: 'signup' })])
  })

  it('200: sends nothing to an address of another audience', async () => {
    const { email } = await createSignedUp(deps, { aud: 'other' })
    expect(statusAndBody(await ask({ email }))).toEqual([200, {}])
    await main.idle()
    expect(main.recipients()).not.toContain(email)
  })

  it('422: refuses a request without an email', async () => {
    expect(statusAndBody(await ask({}))).toEqual([
      422,
      errorBody(422, 'validation_failed', 'Magic link requires an email'),
    ])
  })

  it('400: refuses a malformed email', async () => {
    expect(statusAndBody(await ask({ email: 'nobody' }))).toEqual([
      400,
      errorBody(400, 'validation_failed', 'Unable to validate email address: invalid format'),
    ])
  })
})

describe('POST /magiclink under settings', () => {
  it('422: refuses while sign-ins by email are off', async () => {
    const open = await openBeside(main, { AUTH_EXTERNAL_EMAIL_ENABLED: 'false' })
    expect(statusAndBody(await open.post('/magiclink', { email: 'a@example.com' }))).toEqual([
      422,
      errorBody(422, 'email_provider_disabled', 'Email logins are disabled'),
    ])
    await open.close()
  })

  it('422: refuses unknown addresses while signups are disabled', async () => {
    const open = await openBeside(main, { AUTH_DISABLE_SIGNUP: 'true' })
    const { email } = await createSignedUp(open.deps)
    expect(statusAndBody(await open.post('/magiclink', { email: 'a@example.com' }))).toEqual([
      422,
      errorBody(422, 'signup_disabled', 'Signups not allowed for this instance'),
    ])
    expect(statusAndBody(await open.post('/magiclink', { email }))).toEqual([200, {}])
    await open.readMail(email)
    await open.close()
  })
})
