import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { anyTime, errorBody, sessionBody, signedUpBody, statusAndBody } from '../../test/bodies.ts'
import { expectSession } from '../../test/expect-user.ts'
import { openBeside, openMailApp } from '../../test/mail-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'

const main = await openMailApp({ AUTH_RATE_LIMIT_EMAIL_SENT: 'off' })
const { clock, deps } = main

afterAll(() => main.close())

const recover = (body: object, headers = {}) => main.post('/recover', body, headers)
const userOf = (id: string) => deps.db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const timestamp = (date: Date) => date.toISOString().replace('Z', '000+00:00')
const verify = (body: object) => main.post('/verify', body)

describe('POST /recover', () => {
  // ASVS 6.4.3, 6.5.1
  it('200: sends a mail with a link and a code, each of which signs in once', async () => {
    const { user, email } = await createSignedUp(deps)
    const answer = await recover({ email: email.toUpperCase() })
    expect([answer.statusCode, answer.json()]).toEqual([200, {}])
    const { mail, link, token, code } = await main.readMail(email)
    expect(mail.subject).toBe('Reset your password')
    expect(link.href).toBe(
      `http://localhost:8081/verify?token=${token}&type=recovery&redirect_to=http://localhost:3000`,
    )
    expect((await userOf(user.id)).recovery_sent_at).toBe(timestamp(clock.now()))
    expect((await verify({ type: 'recovery', token: code, email })).json()).toEqual(
      sessionBody(signedUpBody({ user, email }, { recovery_sent_at: anyTime }), { type: 'recovery' }),
    )
    expect(statusAndBody(await verify({ type: 'recovery', token_hash: token }))).toEqual([
      403,
      errorBody(403, 'otp_expired', 'Email link is invalid or has expired'),
    ])
    const actions = await deps.db
      .selectFrom('audit_log_entries')
      .select('action')
      .where('actor_id', '=', user.id)
      .execute()
    expect(actions.map(({ action }) => action)).toEqual(['user_recovery_requested', 'login'])
  })

  it('200: confirms an unconfirmed user', async () => {
    const { user, email } = await createSignedUp(deps, { email_confirmed_at: null })
    await recover({ email })
    const { token } = await main.readMail(email)
    expectSession(
      await verify({ type: 'recovery', token_hash: token }),
      signedUpBody({ user, email }, { recovery_sent_at: anyTime }),
      { type: 'recovery' },
    )
    expect((await userOf(user.id)).email_confirmed_at).toBe(timestamp(clock.now()))
  })

  // ASVS 6.6.2
  it('200: a new mail voids the last one', async () => {
    const { email } = await createSignedUp(deps)
    await recover({ email })
    const old = await main.readMail(email)
    clock.advance(60_000)
    await recover({ email })
    const renewed = await main.readMail(email)
    expect(statusAndBody(await verify({ type: 'recovery', token_hash: old.token }))).toEqual([
      403,
      errorBody(403, 'otp_expired', 'Email link is invalid or has expired'),
    ])
    expectSession(
      await verify({ type: 'recovery', token_hash: renewed.token }),
      signedUpBody({ email }, { recovery_sent_at: anyTime }),
      { type: 'recovery' },
    )
  })

  it('200: sends nothing to an unknown address, the address of a pending sign-up or an address of another audience', async () => {
    await deps.db
      .insertInto('users')
      .values({
        id: randomUUID(),
        aud: 'authenticated',
        role: 'authenticated',
        email: 'staged@example.com',
        staged_at: clock.now(),
      })
      .execute()
    const { email } = await createSignedUp(deps, { aud: 'other' })
    for (const address of ['nobody@example.com', 'staged@example.com', email]) {
      const answer = await recover({ email: address })
      expect([answer.statusCode, answer.json()]).toEqual([200, {}])
    }
    await main.idle()
    expect(main.recipients().filter((to) => to === email || to?.match(/^(nobody|staged)@/))).toEqual([])
  })

  it('429: accepts one request per interval for known and unknown addresses alike, and holds off no magic link', async () => {
    const { email } = await createSignedUp(deps)
    for (const address of [email, 'unknown@example.com']) {
      expect(statusAndBody(await recover({ email: address }))).toEqual([200, {}])
      clock.advance(500)
      const again = await recover({ email: address })
      expect(again.json()).toEqual(
        errorBody(
          429,
          'over_email_send_rate_limit',
          'For security purposes, you can only request this after 60 seconds.',
        ),
      )
      expect(again.headers['retry-after']).toBe('60')
      expect((await main.post('/magiclink', { email: address })).statusCode).toBe(200)
    }
  })

  it.each([
    [{}, 'Password recovery requires an email'],
    [{ email: '' }, 'Password recovery requires an email'],
    [{ email: 'nobody' }, 'Unable to validate email address: invalid format'],
    [{ email: 'a@example.com', code_challenge: 'x' }, 'PKCE flow requires code_challenge_method and code_challenge'],
  ])('400: refuses %j', async (body, message) => {
    expect(statusAndBody(await recover(body))).toEqual([400, errorBody(400, 'validation_failed', message)])
  })
})

describe('POST /recover under settings', () => {
  it('400: refuses while sign-ins by email are off', async () => {
    const open = await openBeside(main, { AUTH_EXTERNAL_EMAIL_ENABLED: 'false' })
    expect(statusAndBody(await open.post('/recover', { email: 'a@example.com' }))).toEqual([
      400,
      errorBody(400, 'email_provider_disabled', 'Email logins are disabled'),
    ])
    await open.close()
  })

  it('429: refuses more requests of a client than the limit', async () => {
    const open = await openBeside(main, { AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip', AUTH_RATE_LIMIT_EMAIL_SENT: 'off' })
    const ask = (index: number) => open.post('/recover', { email: `${index}@example.com` }, { 'x-real-ip': '1.1.1.1' })
    for (let index = 0; index < 30; index += 1) expect(statusAndBody(await ask(index))).toEqual([200, {}])
    expect(statusAndBody(await ask(30))).toEqual([
      429,
      errorBody(429, 'over_request_rate_limit', 'Request rate limit reached'),
    ])
    await open.close()
  })

  it('429: the remaining mails of a client do not reveal whether an address is known', async () => {
    for (const isKnown of [true, false]) {
      const open = await openMailApp({ AUTH_RATE_LIMIT_EMAIL_SENT: '4', AUTH_TRUSTED_PROXIES: '1' })
      const ask = (email: string) => open.post('/recover', { email }, { 'x-forwarded-for': '203.0.113.1' })
      for (const nobody of ['nobody@example.com', 'nobody-else@example.com']) {
        const email = isKnown ? (await createSignedUp(open.deps)).email : nobody
        expect(statusAndBody(await ask(email))).toEqual([200, {}])
        await open.idle()
      }
      expect(statusAndBody(await ask('next@example.com'))).toEqual([
        429,
        errorBody(429, 'over_email_send_rate_limit', 'email rate limit exceeded'),
      ])
      await open.close()
    }
  })
})
