import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import {
  accountBody,
  anyId,
  anyTime,
  confirmedBody,
  emailIdentity,
  externalBody,
  factorBody,
  phoneBody,
  phoneIdentity,
  statusAndBody,
  unconfirmedBody,
  userBody,
} from '../../test/bodies.ts'
import { expectSession, expectUser } from '../../test/expect-user.ts'
import { type AnybodyStub, signInAs, startAnybodyProvider } from '../../test/external/anybody-provider.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { type HookCall, type HookStub, NOTHING, startHookStub } from '../../test/hook-stub.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn } from '../../test/signed-in.ts'
import type { HookName } from '../config/hooks.ts'

const app = await openMailApp()
afterAll(() => app.close())

describe('a mail server that is away', () => {
  // ASVS 16.5.2
  it('does not fail or delay a signup, whose mail is sent after the outage', async () => {
    app.refuseMails()
    // The sign-up succeeds while no mail can be sent, so it does not wait for its mail.
    const answer = await app.post('/signup', { email: 'ada@example.com', password: 'correct horse' })
    expectUser(answer, unconfirmedBody('ada@example.com'))
    // Other tests of this file have sent mails too.
    const attempts = async () => {
      const query = sql`SELECT state::text, retry_count FROM auth_jobs.job WHERE name = 'mail' AND state <> 'completed'`
      return (await query.execute(app.deps.db)).rows
    }
    await expect.poll(attempts).toEqual([{ state: 'retry', retry_count: 0 }])
    app.takeMails()
    // Make the next attempt due now, so that the test does not wait.
    await sql`UPDATE auth_jobs.job SET start_after = now()`.execute(app.deps.db)
    const { token } = await app.readMail('ada@example.com')
    expectSession(
      await app.post('/verify', { type: 'signup', token_hash: token }),
      confirmedBody(anyId, 'ada@example.com', { confirmation_sent_at: anyTime }),
      { type: 'signup' },
    )
  })

  it('leaves no link and no code in the queue', async () => {
    await app.post('/signup', { email: 'grace@example.com', password: 'correct horse' })
    const { token, code } = await app.readMail('grace@example.com')
    const { rows } = await sql`SELECT data FROM auth_jobs.job`.execute(app.deps.db)
    const text = JSON.stringify(rows)
    for (const secret of [token, code, 'grace@example.com']) expect(text).not.toContain(secret)
  })
})

let stub: HookStub
let provider: AnybodyStub
let test: MailApp
beforeAll(async () => {
  stub = await startHookStub()
  provider = await startAnybodyProvider()
  test = await openMailApp({
    ...provider.settings,
    // Hooks replace the mail server and the gateway.
    AUTH_SMTP_HOST: '',
    AUTH_SMS_PROVIDER: '',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
    AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
    AUTH_SMTP_MAX_FREQUENCY: '0',
    AUTH_SMS_MAX_FREQUENCY: '0',
    AUTH_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED: 'true',
    ...stub.settings('SEND_EMAIL', 'SEND_SMS', 'AFTER_USER_CREATED'),
  })
})
afterAll(async () => {
  await test.close()
  await stub.close()
  await provider.close()
})
beforeEach(async () => {
  stub.answer = () => NOTHING
  // A failed call of an earlier test waits for its next attempt.
  await makeDue()
})

/** Waits for the call of a hook with a matching payload. */
const readCall = (name: HookName, about: (payload: HookCall['payload']) => boolean) =>
  vi.waitFor(
    () => {
      const call = stub.callsOf(name).findLast(({ payload }) => about(payload))
      if (!call) throw new Error(`${name} was not called`)
      return call.payload
    },
    { timeout: 60_000 },
  )
const member = (payload: HookCall['payload'], part: string, name: string): unknown =>
  z.looseObject({}).parse(payload[part])[name]
const readMail = (email: string, type: string) =>
  readCall(
    'SEND_EMAIL',
    (payload) =>
      member(payload, 'email_data', 'to') === email && member(payload, 'email_data', 'email_action_type') === type,
  )
const readSms = (phone: string) => readCall('SEND_SMS', (payload) => member(payload, 'sms', 'phone') === phone)
const makeDue = () =>
  sql`UPDATE auth_jobs.job SET start_after = now() WHERE state IN ('created', 'retry')`.execute(test.deps.db)

describe('SEND_EMAIL', () => {
  it('is sent the content of the mail and its user', async () => {
    const email = 'ada@example.com'
    await test.post('/signup', { email, password: 'correct horse', data: { plan: 'gold' } })
    const { user, email_data } = await readMail(email, 'signup')
    expect(user).toEqual(
      userBody({
        email,
        confirmation_sent_at: anyTime,
        user_metadata: { plan: 'gold' },
        identities: [emailIdentity(anyId, email, { plan: 'gold' })],
      }),
    )
    expect(email_data).toEqual({
      email_action_type: 'signup',
      to: email,
      token: expect.stringMatching(/^\d{6}$/),
      token_hash: expect.stringMatching(/^[0-9a-f]{56}$/),
      redirect_to: 'http://localhost:3000',
      site_url: 'http://localhost:3000',
    })
    const token = member({ email_data }, 'email_data', 'token')
    expectSession(
      await test.post('/verify', { type: 'signup', email, token }),
      confirmedBody(anyId, email, {
        confirmation_sent_at: anyTime,
        user_metadata: { plan: 'gold' },
        identities: [emailIdentity(anyId, email, { plan: 'gold', email_verified: true })],
      }),
      { type: 'signup' },
    )
  })

  it('sends mails of every kind, also to pending sign-ups', async () => {
    const { headers, email } = await createSignedIn(test)
    await test.post('/otp', { email: 'staged@example.com' })
    // The response does not wait for the message. Sending the message writes the time of sending.
    await test.post('/recover', { email })
    await readMail(email, 'recovery')
    await test.post('/invite', { email: 'invited@example.com' }, OPERATOR)
    await test.app.inject({ url: '/reauthenticate', headers })
    const payload = { email: 'changed@example.com', password: 'another horse' }
    await test.app.inject({ method: 'PUT', url: '/user', headers, payload })
    await readMail('staged@example.com', 'magiclink')
    await readMail('invited@example.com', 'invite')
    await readMail(email, 'reauthentication')
    await readMail(email, 'password_changed_notification')
    const change = await readMail('changed@example.com', 'email_change')
    expect(change.email_data).toEqual({
      email_action_type: 'email_change',
      to: payload.email,
      token: expect.any(String),
      token_hash: expect.any(String),
      redirect_to: 'http://localhost:3000',
      site_url: 'http://localhost:3000',
      new_email: 'changed@example.com',
    })
    expect(change.user).toEqual(
      confirmedBody(anyId, email, {
        confirmation_sent_at: anyTime,
        recovery_sent_at: anyTime,
        new_email: 'changed@example.com',
        email_change_sent_at: anyTime,
        reauthentication_sent_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { name: 'Ann' },
      }),
    )
  })

  it.each([
    ['an outage', 'late@example.com', { status: 500, body: '' }],
    ['an error that is no refusal', 'malformed@example.com', { body: { error: 'mailbox full' } }],
    ['an answer that is not empty', 'chatty@example.com', { body: { ok: false } }],
  ])('is called again after %s, and fails no request', async (_, email, failure) => {
    stub.answer = ({ name, payload }) =>
      name === 'SEND_EMAIL' && member(payload, 'email_data', 'to') === email ? failure : NOTHING
    expect(statusAndBody(await test.post('/otp', { email }))).toEqual([200, {}])
    await readMail(email, 'magiclink')
    stub.answer = () => NOTHING
    const callAgain = async () => {
      await makeDue()
      return stub.callsOf('SEND_EMAIL').filter(({ payload }) => member(payload, 'email_data', 'to') === email).length
    }
    await expect.poll(callAgain).toBe(2)
  })
})

describe('SEND_SMS', () => {
  it('is sent the code and the text', async () => {
    const phone = '14155550101'
    expect(statusAndBody(await test.post('/otp', { phone }))).toEqual([200, {}])
    const { sms, user } = await readSms(phone)
    const otp = member({ sms }, 'sms', 'otp')
    expect(sms).toEqual({ otp, phone, channel: 'sms', message: `Your code is ${otp}` })
    expect(user).toEqual(
      userBody({
        phone,
        confirmation_sent_at: anyTime,
        app_metadata: { provider: 'phone', providers: ['phone'] },
        identities: [phoneIdentity(anyId, phone)],
      }),
    )
    expectSession(await test.post('/verify', { type: 'sms', phone, token: otp }), phoneBody(phone))
  })

  it('sends the codes of second factors', async () => {
    const { headers, email } = await createSignedIn(test)
    const phone = '14155550102'
    const { id } = (await test.post('/factors', { factor_type: 'phone', phone }, headers)).json()
    await test.post(`/factors/${id}/challenge`, {}, headers)
    expect((await readSms(phone)).user).toEqual(
      confirmedBody(anyId, email, {
        confirmation_sent_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { name: 'Ann' },
        factors: [factorBody({ id, status: 'unverified', factor_type: 'phone', phone, last_challenged_at: anyTime })],
      }),
    )
  })

  it.each([
    ['an error that is no refusal', '14155550107', { error: 'blocked' }],
    ['an answer that is not empty', '14155550108', { ok: false }],
  ])('is called again after %s, and fails no request', async (_, phone, body) => {
    const isAbout = (payload: HookCall['payload']) => member(payload, 'sms', 'phone') === phone
    stub.answer = ({ name, payload }) => (name === 'SEND_SMS' && isAbout(payload) ? { body } : NOTHING)
    expect(statusAndBody(await test.post('/otp', { phone }))).toEqual([200, {}])
    stub.answer = () => NOTHING
    const callAgain = async () => {
      await makeDue()
      return stub.callsOf('SEND_SMS').filter(({ payload }) => isAbout(payload)).length
    }
    await expect.poll(callAgain).toBe(2)
  })

  it("422: returns the hook's own message of a refusal", async () => {
    const phone = '14155550103'
    stub.answer = ({ name, payload }) =>
      name === 'SEND_SMS' && member(payload, 'sms', 'phone') === phone
        ? { body: { error: { http_code: 400, message: 'no such phone' } } }
        : NOTHING
    const answer = await test.post('/otp', { phone })
    expect(answer.json()).toEqual({
      code: 422,
      error_code: 'sms_send_failed',
      msg: 'Error sending confirmation OTP to provider: no such phone',
    })
  })
})

describe('AFTER_USER_CREATED', () => {
  const told = (id: string) =>
    stub.callsOf('AFTER_USER_CREATED').filter(({ payload }) => member(payload, 'user', 'id') === id)
  const readNews = (id: string) => readCall('AFTER_USER_CREATED', (payload) => member(payload, 'user', 'id') === id)
  const idOf = async (email: string) => {
    const query = test.deps.db.selectFrom('users').select('id').where('email', '=', email)
    return (await query.executeTakeFirstOrThrow()).id
  }

  it('is told of signups, anonymous users, invitations and first codes', async () => {
    const { id } = (await test.post('/signup', { email: 'one@example.com', password: 'correct horse' })).json()
    const anonymous = (await test.post('/signup', {})).json().user.id
    await makeDue()
    expect(await readNews(id)).toEqual({
      metadata: { uuid: anyId, time: '2026-01-02T03:04:05.678Z', name: 'after-user-created', ip_address: '127.0.0.1' },
      user: userBody({
        id,
        email: 'one@example.com',
        confirmation_sent_at: anyTime,
        identities: [emailIdentity(id, 'one@example.com')],
      }),
    })
    await readNews(anonymous)
    const invited = (await test.post('/invite', { email: 'two@example.com' }, OPERATOR)).json().id
    await readNews(invited)
    const email = 'three@example.com'
    await test.post('/otp', { email })
    const token = member(await readMail(email, 'magiclink'), 'email_data', 'token')
    expect(told(await idOf(email))).toEqual([])
    await test.post('/verify', { type: 'email', email, token })
    await readNews(await idOf(email))
  })

  it("is told of a user's first sign-in at a provider", async () => {
    const account = { sub: '77', email: 'external@example.com', verified: true }
    await signInAs(test, 'keycloak', account)
    const id = await idOf(account.email)
    expect(await readNews(id)).toEqual({
      metadata: { uuid: anyId, time: '2026-01-02T03:04:05.678Z', name: 'after-user-created', ip_address: '127.0.0.1' },
      user: externalBody(
        'keycloak',
        accountBody({ iss: provider.url, sub: account.sub, email: account.email, custom_claims: { verified: true } }),
        { id },
      ),
    })
    await signInAs(test, 'keycloak', account)
    await test.idle()
    expect(told(id)).toHaveLength(1)
  })

  it('is told one uuid for a user in every attempt, and another for the next user', async () => {
    let failures = 1
    const email = 'repeat@example.com'
    stub.answer = ({ name, payload }) => {
      const isFailing = name === 'AFTER_USER_CREATED' && member(payload, 'user', 'email') === email && failures-- > 0
      return isFailing ? { status: 500, body: '' } : NOTHING
    }
    const first = (await test.post('/invite', { email }, OPERATOR)).json().id
    await vi.waitFor(
      async () => {
        await makeDue()
        expect(told(first)).toHaveLength(2)
      },
      { timeout: 60_000 },
    )
    const next = (await test.post('/invite', { email: 'next@example.com' }, OPERATOR)).json().id
    await readNews(next)
    const [failed, repeated, other] = [...told(first), ...told(next)].map(({ payload }) =>
      member(payload, 'metadata', 'uuid'),
    )
    expect(repeated).toBe(failed)
    expect(other).not.toBe(failed)
  })

  it('is not told of a taken address', async () => {
    const { email } = await createSignedIn(test)
    const { id } = (await test.post('/signup', { email, password: 'correct horse' })).json()
    await makeDue()
    await test.idle()
    const news = stub.callsOf('AFTER_USER_CREATED')
    expect(news.filter(({ payload }) => member(payload, 'user', 'email') === email)).toEqual([])
    expect(told(id)).toEqual([])
  })
})
