import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import {
  answersByStatus,
  anyId,
  anyTime,
  errorBody,
  phoneBody,
  phoneIdentity,
  sessionBody,
  signedUpBody,
  statusAndBody,
  userBody,
} from '../../test/bodies.ts'
import { expectSession } from '../../test/expect-user.ts'
import { openBeside, openMailApp } from '../../test/mail-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { SMS_TAKEN } from '../../test/sms-stub.ts'

const main = await openMailApp({
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
  AUTH_SMS_TEST_OTP: '15005550006:123456',
})
const { clock, deps, sms } = main

beforeEach(() => {
  sms.answer = SMS_TAKEN
})
afterAll(() => main.close())

let count = 0
const NO_CHANNEL =
  "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or Twilio Verify is used as the provider."
const newPhone = () => `1415555${String(++count).padStart(4, '0')}`
const ask = (body: object) => main.post('/otp', body)
const verify = (body: object) => main.post('/verify', body)
const rowsOf = (kind: 'email' | 'phone', value: string) =>
  deps.db.selectFrom('users').selectAll().where(kind, '=', value).execute()
const timestamp = (date: Date) => date.toISOString().replace('Z', '000+00:00')

describe('POST /otp with an email', () => {
  it('200: sends a magic link to a user', async () => {
    const { user, email } = await createSignedUp(deps)
    expect(statusAndBody(await ask({ email, create_user: false }))).toEqual([200, {}])
    const { mail, link, code } = await main.readMail(email)
    expect([mail.subject, link.searchParams.get('type')]).toEqual(['Your sign-in link', 'magiclink'])
    expect(statusAndBody(await verify({ type: 'email', token: code, email }))).toEqual([
      200,
      sessionBody(signedUpBody({ user, email }, { recovery_sent_at: anyTime }), { type: 'magiclink' }),
    ])
  })

  it('200: parallel requests for an unknown address make one pending sign-up', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask({ email: 'race@example.com' })))
    const wait = 'For security purposes, you can only request this after 60 seconds.'
    expect(answersByStatus(answers)).toEqual([
      [200, {}],
      ...Array(4).fill([429, errorBody(429, 'over_email_send_rate_limit', wait)]),
    ])
    await main.readMail('race@example.com')
    expect(await rowsOf('email', 'race@example.com')).toHaveLength(1)
  })

  it('422: refuses an unknown address and that of a pending sign-up when create_user is false', async () => {
    const disabled = errorBody(422, 'otp_disabled', 'Signups not allowed for otp')
    expect(statusAndBody(await ask({ email: 'unknown@example.com', create_user: false }))).toEqual([422, disabled])
    await ask({ email: 'unknown@example.com' })
    expect(statusAndBody(await ask({ email: 'unknown@example.com', create_user: false }))).toEqual([422, disabled])
  })
})

describe('POST /otp with a phone', () => {
  it('200: sends a code to a user, and the code signs in once', async () => {
    const phone = newPhone()
    const { user } = await createSignedUp(deps, { phone, phone_confirmed_at: clock.now() })
    const answer = await ask({ phone: `+${phone}` })
    expect([answer.statusCode, answer.json()]).toEqual([200, {}])
    // The request itself sends the SMS, without a job.
    const { code } = await sms.read(phone)
    const verified = await verify({ type: 'sms', phone, token: code })
    expect(verified.json()).toEqual(
      sessionBody(signedUpBody({ user, email: user.email }, { phone, phone_confirmed_at: anyTime })),
    )
    expect((await verify({ type: 'sms', phone, token: code })).json()).toEqual(
      errorBody(403, 'otp_expired', 'Token has expired or is invalid'),
    )
  })

  it('200: an unknown number becomes a user when its code is used', async () => {
    const phone = newPhone()
    await ask({ phone, data: { name: 'Grace' } })
    expect((await rowsOf('phone', phone)).map(({ staged_at }) => ({ staged_at }))).toEqual([
      { staged_at: timestamp(clock.now()) },
    ])
    const { code } = await sms.read(phone)
    expect(statusAndBody(await verify({ type: 'sms', phone, token: code }))).toEqual([
      200,
      sessionBody(
        userBody({
          phone,
          phone_confirmed_at: timestamp(clock.now()),
          confirmation_sent_at: anyTime,
          confirmed_at: anyTime,
          app_metadata: { provider: 'phone', providers: ['phone'] },
          user_metadata: { name: 'Grace' },
          identities: [phoneIdentity(anyId, phone, { name: 'Grace', phone_verified: true })],
        }),
      ),
    ])
    expect((await rowsOf('phone', phone)).map(({ staged_at }) => ({ staged_at }))).toEqual([{ staged_at: null }])
  })

  it('200: parallel first requests for a number make one pending sign-up and send one code', async () => {
    const phone = newPhone()
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask({ phone })))
    const wait = 'For security purposes, you can only request this after 60 seconds.'
    expect(answersByStatus(answers)).toEqual([
      [200, {}],
      ...Array(4).fill([429, errorBody(429, 'over_sms_send_rate_limit', wait)]),
    ])
    expect(await rowsOf('phone', phone)).toHaveLength(1)
    expect(sms.messages.filter(({ to }) => to === phone)).toHaveLength(1)
  })

  it('200: accepts the test code of a test phone', async () => {
    const phone = '15005550006'
    await ask({ phone })
    expectSession(await verify({ type: 'sms', phone, token: '123456' }), phoneBody(phone))
    expect(sms.messages.filter(({ to }) => to === phone)).toEqual([])
  })

  it('200: sends nothing to a number of another audience', async () => {
    const phone = newPhone()
    await createSignedUp(deps, { phone, aud: 'other' })
    expect(statusAndBody(await ask({ phone }))).toEqual([200, {}])
    await main.idle()
    expect(sms.messages.filter(({ to }) => to === phone)).toEqual([])
  })

  it('429: sends one code per interval to known and unknown numbers alike', async () => {
    const [known, unknown] = [newPhone(), newPhone()]
    await createSignedUp(deps, { phone: known })
    for (const phone of [known, unknown]) {
      expect(statusAndBody(await ask({ phone }))).toEqual([200, {}])
      clock.advance(1_000)
      expect(statusAndBody(await ask({ phone }))).toEqual([
        429,
        errorBody(
          429,
          'over_sms_send_rate_limit',
          'For security purposes, you can only request this after 59 seconds.',
        ),
      ])
    }
  })

  it('422: returns a refusal of the gateway at once and does not try again', async () => {
    const phone = newPhone()
    sms.answer = { status: 400, body: { code: 21_211, message: 'Invalid number' } }
    expect(statusAndBody(await ask({ phone }))).toEqual([
      422,
      errorBody(422, 'sms_send_failed', 'Error sending confirmation OTP to provider: Invalid number'),
    ])
    await main.idle()
    expect(sms.messages.filter(({ to }) => to === phone)).toHaveLength(1)
  })

  it.each([
    [400, {}, 'validation_failed', 'One of email or phone must be set'],
    [
      400,
      { email: 'a@example.com', phone: '14155550100' },
      'validation_failed',
      'Only an email address or phone number should be provided',
    ],
    [
      400,
      { email: 'a@example.com', channel: 'sms' },
      'validation_failed',
      'Channel should only be specified with Phone OTP',
    ],
    [400, { phone: '14155550100', channel: 'pigeon' }, 'validation_failed', NO_CHANNEL],
    [400, { phone: '0415' }, 'validation_failed', 'Invalid phone number format (E.164 required)'],
    [400, { email: 'x' }, 'validation_failed', 'Unable to validate email address: invalid format'],
    [422, { phone: '14155559999', create_user: false }, 'otp_disabled', 'Signups not allowed for otp'],
    [
      400,
      { email: 'a@example.com', create_user: 'no' },
      'bad_json',
      'Could not parse request body as JSON: create_user: must be a boolean',
    ],
  ])('%d: refuses %j', async (status, body, code, msg) => {
    const answer = await ask(body)
    expect(answer.statusCode).toBe(status)
    expect(answer.json()).toEqual(errorBody(status, code, msg))
  })
})

describe('POST /otp under settings', () => {
  it.each([
    [422, 'emails', { email: 'a@example.com' }, ['email_provider_disabled', 'Email logins are disabled']],
    [400, 'phones', { phone: '14155550100' }, ['phone_provider_disabled', 'Unsupported phone provider']],
  ])('%i: refuses %s while they are off', async (status, _kind, body, [code = '', message = '']) => {
    const open = await openBeside(main, { AUTH_EXTERNAL_EMAIL_ENABLED: 'false' })
    expect(statusAndBody(await open.post('/otp', body))).toEqual([status, errorBody(status, code, message)])
    await open.close()
  })

  it.each([{ phone: '14155550100' }, { email: 'a@example.com' }])(
    '422: refuses the unknown %j while signups are disabled',
    async (body) => {
      const open = await openBeside(main, { AUTH_EXTERNAL_PHONE_ENABLED: 'true', AUTH_DISABLE_SIGNUP: 'true' })
      const signups = errorBody(422, 'signup_disabled', 'Signups not allowed for this instance')
      expect(statusAndBody(await open.post('/otp', body))).toEqual([422, signups])
      await open.close()
    },
  )

  it('429: refuses a code by SMS when the limit of all SMS is used up', async () => {
    const open = await openBeside(main, { AUTH_EXTERNAL_PHONE_ENABLED: 'true', AUTH_RATE_LIMIT_SMS_SENT: '1' })
    await createSignedUp(open.deps, { phone: '14155550101' })
    await createSignedUp(open.deps, { phone: '14155550102' })
    expect(statusAndBody(await open.post('/otp', { phone: '14155550101' }))).toEqual([200, {}])
    expect(statusAndBody(await open.post('/otp', { phone: '14155550102' }))).toEqual([
      429,
      errorBody(429, 'over_sms_send_rate_limit', 'SMS rate limit exceeded'),
    ])
    await open.close()
  })

  it('500: fails to send a code by SMS without a gateway', async () => {
    const mute = await openBeside(main, { AUTH_EXTERNAL_PHONE_ENABLED: 'true', AUTH_SMS_PROVIDER: '' })
    expect(statusAndBody(await mute.post('/otp', { phone: '14155550100' }))).toEqual([
      500,
      errorBody(500, 'unexpected_failure', 'Unable to get SMS provider', { error_id: anyId }),
    ])
    await mute.close()
  })
})
