import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { runSql } from '../../test/adoption/restored-database.ts'
import {
  anyId,
  anyTime,
  confirmedBody,
  emailIdentity,
  errorBody,
  operatorEntry,
  sessionBody,
  signedUpBody,
  statusAndBody,
  unconfirmedBody,
  userBody,
  wrongPassword,
} from '../../test/bodies.ts'
import { expectFailure, type Failure } from '../../test/expect-failure.ts'
import { expectSession, expectUser } from '../../test/expect-user.ts'
import { forgeBearer, OPERATOR } from '../../test/forged-token.ts'
import { openMailApp } from '../../test/mail-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'

const main = await openMailApp({ AUTH_RATE_LIMIT_EMAIL_SENT: 'off', AUTH_DISABLE_SIGNUP: 'true' })
const { clock, deps } = main
const TAKEN = [422, 'email_exists', 'A user with this email address has already been registered'] as const

afterAll(() => main.close())

const invite = (body: object, url = '/invite') => main.post(url, body, OPERATOR)
const refuse = (payload: object, failure: Failure, headers: Record<string, string> = OPERATOR) =>
  expectFailure(main, { method: 'POST', url: '/invite', payload, headers }, failure)
const verify = (body: object) => main.post('/verify', body)
const rowsOf = (email: string) => deps.db.selectFrom('users').selectAll().where('email', '=', email).execute()
const timestamp = (date: Date) => date.toISOString().replace('Z', '000+00:00')

describe('POST /invite', () => {
  it('200: creates a user without a password and sends a mail, also while signups are disabled', async () => {
    const email = 'ada@example.com'
    const at = timestamp(clock.now())
    const answer = await invite(
      { email: 'Ada@Example.com', data: { name: 'Ada' } },
      '/invite?redirect_to=http://localhost:5173/x',
    )
    expect(answer.statusCode).toBe(200)
    const { id } = answer.json()
    expect(answer.json()).toEqual({
      id,
      aud: 'authenticated',
      role: 'authenticated',
      email,
      invited_at: at,
      phone: '',
      confirmation_sent_at: at,
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: { name: 'Ada' },
      identities: [
        {
          identity_id: expect.any(String),
          id,
          user_id: id,
          identity_data: { sub: id, email, email_verified: false, phone_verified: false, name: 'Ada' },
          provider: 'email',
          created_at: at,
          updated_at: at,
          email,
        },
      ],
      created_at: at,
      updated_at: at,
      is_anonymous: false,
    })
    const { mail, link, token } = await main.readMail(email)
    expect(mail.subject).toBe("You've been invited")
    expect(link.href).toBe(
      `http://localhost:8081/verify?token=${token}&type=invite&redirect_to=http://localhost:5173/x`,
    )
    expect((await rowsOf(email)).map(({ encrypted_password }) => encrypted_password)).toEqual([null])
    const entries = await deps.db.selectFrom('audit_log_entries').selectAll().where('target_user_id', '=', id).execute()
    expect(entries).toEqual([
      {
        id: anyId,
        actor_id: null,
        target_user_id: id,
        session_id: null,
        action: 'user_invited',
        log_type: 'team',
        ip_address: '127.0.0.1',
        created_at: anyTime,
        payload: operatorEntry({
          action: 'user_invited',
          traits: { user_id: id, user_email: email, user_phone: '' },
          log_type: 'team',
        }),
      },
    ])
  })

  // ASVS 6.4.1
  it('200: accepting with a password sets the password', async () => {
    const email = 'grace@example.com'
    await invite({ email })
    const { code } = await main.readMail(email)
    const weak = await verify({ type: 'invite', token: code, email, password: 'x' })
    expect(weak.json()).toEqual(
      errorBody(422, 'weak_password', 'Password should be at least 6 characters.', {
        weak_password: { reasons: ['length'] },
      }),
    )
    const password = 'correct horse'
    const accepted = await verify({ type: 'invite', token: code, email, password })
    expect(accepted.json()).toEqual(
      sessionBody(
        confirmedBody(anyId, email, {
          email_confirmed_at: timestamp(clock.now()),
          invited_at: anyTime,
          confirmation_sent_at: anyTime,
        }),
        { type: 'invite' },
      ),
    )
    expectSession(
      await main.post('/token?grant_type=password', { email, password }),
      confirmedBody(anyId, email, { invited_at: anyTime, confirmation_sent_at: anyTime }),
    )
  })

  it('303: accepts the invitation by its link without a password', async () => {
    const email = 'link@example.com'
    await invite({ email })
    const { link } = await main.readMail(email)
    const followed = await main.app.inject({ method: 'GET', url: `/verify${link.search}` })
    expect([followed.statusCode, followed.headers.location]).toEqual([
      303,
      expect.stringMatching(/^http:\/\/localhost:3000\/#access_token=.*&type=invite&/),
    ])
  })

  it('200: invites an unconfirmed user again and removes their password', async () => {
    const { user, email, password } = await createSignedUp(deps, { email_confirmed_at: null })
    const answer = await invite({ email, data: { team: 'x', name: null } })
    expect(answer.json()).toEqual(
      userBody({
        id: user.id,
        email,
        invited_at: timestamp(clock.now()),
        confirmation_sent_at: anyTime,
        user_metadata: { team: 'x' },
        identities: [emailIdentity(user.id, email, { email_verified: true })],
      }),
    )
    const { token } = await main.readMail(email)
    expectSession(
      await verify({ type: 'invite', token_hash: token }),
      confirmedBody(user.id, email, {
        invited_at: anyTime,
        confirmation_sent_at: anyTime,
        user_metadata: { team: 'x' },
      }),
      { type: 'invite' },
    )
    expect(statusAndBody(await main.post('/token?grant_type=password', { email, password }))).toEqual(wrongPassword)
  })

  it('200: keeps the password of a user with a confirmed phone', async () => {
    const { email, password } = await createSignedUp(deps, {
      email_confirmed_at: null,
      phone: '14155550100',
      phone_confirmed_at: clock.now(),
    })
    const phone = { phone: '14155550100', phone_confirmed_at: anyTime }
    const record = signedUpBody({ email }, { ...phone, invited_at: anyTime })
    await invite({ email })
    const { token } = await main.readMail(email)
    expectSession(await verify({ type: 'invite', token_hash: token }), record, { type: 'invite' })
    expectSession(await main.post('/token?grant_type=password', { email, password }), record)
  })

  it('200: replaces a pending sign-up, and parallel invitations create one user', async () => {
    const email = 'staged@example.com'
    const pending = await deps.db
      .insertInto('users')
      .values({
        id: randomUUID(),
        aud: 'authenticated',
        role: 'authenticated',
        email,
        staged_at: clock.now(),
        raw_user_meta_data: { a: 1 },
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const answers = await Promise.all(Array.from({ length: 5 }, () => invite({ email })))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(5).fill(200))
    const [row, ...others] = await rowsOf(email)
    expect(others).toEqual([])
    expect([row?.staged_at, row?.raw_user_meta_data]).toEqual([null, {}])
    expect(new Set(answers.map((answer) => answer.json().id))).toEqual(new Set([row?.id]))
    expect(row?.id).not.toBe(pending.id)
  })

  it('422: refuses a confirmed user and a user of another audience', async () => {
    const confirmed = await createSignedUp(deps)
    const other = await createSignedUp(deps, { aud: 'other', email_confirmed_at: null })
    await refuse({ email: confirmed.email }, TAKEN)
    await refuse({ email: other.email }, TAKEN)
    await main.idle()
    expect(main.recipients()).not.toContain(confirmed.email)
  })

  it('400: refuses a missing email, and a malformed email', async () => {
    await refuse({}, [400, 'validation_failed', 'An email address is required'])
    await refuse({ email: 'x' }, [400, 'validation_failed', 'Unable to validate email address: invalid format'])
  })

  it('401: refuses a request without an access token', async () => {
    await refuse({}, [401, 'no_authorization', 'This endpoint requires a valid Bearer token'], {})
  })

  it('403: refuses a user who is no admin', async () => {
    const user = { authorization: forgeBearer({ role: 'authenticated' }) }
    await refuse({ email: 'a@example.com' }, [403, 'not_admin', 'User not allowed'], user)
  })
})

describe('POST /invite under settings', () => {
  it.each(['compatible', 'supabase', 'strict'])(
    '200: in the profile %s, an invitation outlives messages that a stranger asks for',
    async (profile) => {
      const settings = { AUTH_PROFILE: profile, AUTH_SMTP_MAX_FREQUENCY: '60s', AUTH_RATE_LIMIT_EMAIL_SENT: 'off' }
      const open = await openMailApp({ ...settings, AUTH_TRUSTED_PROXIES: '1', AUTH_SMTP_REQUIRE_TLS: 'false' })
      for (const { url, payload } of [
        { url: '/signup', payload: { password: 'the password of a stranger' } },
        { url: '/resend', payload: { type: 'signup' } },
        { url: '/otp', payload: { data: { name: 'Eve' } } },
        { url: '/magiclink', payload: {} },
        { url: '/recover', payload: {} },
      ]) {
        const email = `${url.slice(1)}@example.com`
        await open.post('/invite', { email }, OPERATOR)
        const { token } = await open.readMail(email)
        open.clock.advance(60_000)
        expect((await open.post(url, { email, ...payload })).statusCode).toBe(200)
        await open.readMail(email)
        const followed = await open.post('/verify', { type: 'invite', token_hash: token })
        const { user, error_code } = followed.json()
        expect([url, followed.statusCode, error_code, user?.email]).toEqual([url, 200, undefined, email])
      }
      await open.close()
    },
  )

  it('403: refuses an invitation that another invitation has replaced, and one that has expired', async () => {
    const open = await openMailApp({ AUTH_MAILER_OTP_EXP: '600', AUTH_RATE_LIMIT_EMAIL_SENT: 'off' })
    const email = 'ada@example.com'
    const follow = async (token: string) =>
      statusAndBody(await open.post('/verify', { type: 'invite', token_hash: token }))
    await open.post('/invite', { email }, OPERATOR)
    const first = await open.readMail(email)
    await open.post('/invite', { email }, OPERATOR)
    const second = await open.readMail(email)
    const over = [403, errorBody(403, 'otp_expired', 'Email link is invalid or has expired')]
    expect(await follow(first.token)).toEqual(over)
    open.clock.advance(600_000)
    expect(await follow(second.token)).toEqual(over)
    await open.close()
  })

  it('429: counts a mail that is queued, although its interval could not start', async () => {
    const settings = { AUTH_PROFILE: 'supabase', AUTH_RATE_LIMIT_EMAIL_SENT: '1' }
    const open = await openMailApp(settings)
    const { schema, prefix } = open.deps.names
    await runSql(open.database.url, `DROP TABLE ${schema}.${prefix}send_throttle`)
    expect(statusAndBody(await open.post('/invite', { email: 'a@example.com' }, OPERATOR))).toEqual([
      500,
      errorBody(500, 'unexpected_failure', 'Unexpected failure, please check server logs for more information', {
        error_id: anyId,
      }),
    ])
    await open.readMail('a@example.com')
    const request = { method: 'POST', url: '/invite', payload: { email: 'b@example.com' }, headers: OPERATOR } as const
    await expectFailure(open, request, [429, 'over_email_send_rate_limit', 'email rate limit exceeded'])
    await open.close()
  })

  it('429: stores nothing when no mail is left, and a refusal uses up no mail', async () => {
    const open = await openMailApp({ AUTH_RATE_LIMIT_EMAIL_SENT: '1' })
    const { email } = await createSignedUp(open.deps)
    const ask = (payload: object) => open.post('/invite', payload, OPERATOR)
    expect(statusAndBody(await ask({ email }))).toEqual([
      422,
      errorBody(422, 'email_exists', 'A user with this email address has already been registered'),
    ])
    expectUser(await ask({ email: 'a@example.com' }), unconfirmedBody('a@example.com', { invited_at: anyTime }))
    const request = { method: 'POST', url: '/invite', payload: { email: 'b@example.com' }, headers: OPERATOR } as const
    await expectFailure(open, request, [429, 'over_email_send_rate_limit', 'email rate limit exceeded'])
    const rows = await open.deps.db.selectFrom('users').select('email').where('email', '=', 'b@example.com').execute()
    expect(rows).toEqual([])
    await open.close()
  })
})
