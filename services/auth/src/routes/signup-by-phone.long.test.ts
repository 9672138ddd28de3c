import { afterAll, describe, expect, it } from 'vitest'
import {
  anyId,
  anyTime,
  errorBody,
  phoneBody,
  phoneIdentity,
  sessionBody,
  statusAndBody,
  userBody,
  wrongPassword,
} from '../../test/bodies.ts'
import { expectSession, expectUser } from '../../test/expect-user.ts'
import { openMailApp } from '../../test/mail-app.ts'

const main = await openMailApp({
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_SMS_TEST_OTP: '15005550006:123456',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
})
const { clock, deps, sms } = main
const password = 'correct horse'
const UUID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)

afterAll(() => main.close())

const signUp = (phone: string, body = {}) => main.post('/signup', { phone, password, ...body })
const verify = (phone: string, token: string) => main.post('/verify', { type: 'sms', phone, token })
const rowsOf = (phone: string) => deps.db.selectFrom('users').selectAll().where('phone', '=', phone).execute()
const timestamp = (date: Date) => date.toISOString().replace('Z', '000+00:00')

describe('POST /signup by phone', () => {
  it('200: stores the user and sends a code that confirms the phone and signs in', async () => {
    const at = timestamp(clock.now())
    const answer = await signUp('+1 415 555 0100', { data: { email: 'x@example.com' } })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({
      id: UUID,
      aud: 'authenticated',
      role: 'authenticated',
      email: '',
      phone: '14155550100',
      confirmation_sent_at: at,
      app_metadata: { provider: 'phone', providers: ['phone'] },
      user_metadata: { email: 'x@example.com' },
      identities: [
        {
          identity_id: UUID,
          id: answer.json().id,
          user_id: answer.json().id,
          identity_data: {
            sub: answer.json().id,
            phone: '14155550100',
            email_verified: false,
            phone_verified: false,
          },
          provider: 'phone',
          created_at: at,
          updated_at: at,
        },
      ],
      created_at: at,
      updated_at: at,
      is_anonymous: false,
    })
    const { code, text } = await sms.read('14155550100')
    expect(text).toBe(`Your code is ${code}`)
    const verified = await verify('+14155550100', code)
    expect(verified.json()).toEqual(
      sessionBody(
        userBody({
          id: answer.json().id,
          phone: '14155550100',
          phone_confirmed_at: at,
          confirmation_sent_at: anyTime,
          confirmed_at: at,
          app_metadata: { provider: 'phone', providers: ['phone'] },
          user_metadata: { email: 'x@example.com' },
          identities: [phoneIdentity(anyId, '14155550100', { phone_verified: true })],
        }),
      ),
    )
    expect(statusAndBody(await verify('+14155550100', code))).toEqual([
      403,
      errorBody(403, 'otp_expired', 'Token has expired or is invalid'),
    ])
  })

  it('200: gives a duplicate the same answer, and sends an unconfirmed user another code after the interval', async () => {
    const shape = (text: string) => text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id')
    const fresh = await signUp('14155550101')
    const { code: old } = await sms.read('14155550101')
    expect(shape((await signUp('14155550101')).body)).toBe(shape(fresh.body))
    clock.advance(60_000)
    await signUp('14155550101', { password: 'another one' })
    const { code } = await sms.read('14155550101')
    expect(sms.messages.filter(({ to }) => to === '14155550101')).toHaveLength(2)
    if (old !== code)
      expect(statusAndBody(await verify('14155550101', old))).toEqual([
        403,
        errorBody(403, 'otp_expired', 'Token has expired or is invalid'),
      ])
    expectSession(await verify('14155550101', code), phoneBody('14155550101'))
    const login = (secret: string) =>
      main.post('/token?grant_type=password', { phone: '14155550101', password: secret })
    // The valid password is that of the sign-up whose code was used.
    expectSession(await login('another one'), phoneBody('14155550101'))
    expect(statusAndBody(await login(password))).toEqual(wrongPassword)
    clock.advance(60_000)
    const repeated = await signUp('14155550101')
    expect(Object.keys(repeated.json())).toEqual(Object.keys(fresh.json()))
    expect(await rowsOf('14155550101')).toHaveLength(1)
  })

  it('200: accepts the test code of a test phone and sends nothing', async () => {
    await signUp('15005550006')
    expectSession(await verify('15005550006', '123456'), phoneBody('15005550006'))
    expect(sms.messages.filter(({ to }) => to === '15005550006')).toEqual([])
  })

  it('200: sends the code by WhatsApp when the gateway is Twilio', async () => {
    expectUser(
      await signUp('14155550102', { channel: 'whatsapp' }),
      phoneBody('14155550102', {
        phone_confirmed_at: undefined,
        confirmed_at: undefined,
        identities: [phoneIdentity(anyId, '14155550102')],
      }),
    )
    expect(await sms.read('14155550102')).toEqual({
      to: '14155550102',
      text: expect.any(String),
      code: expect.any(String),
      channel: 'whatsapp',
    })
  })

  it('400: refuses a malformed number', async () => {
    expect(statusAndBody(await signUp('0415'))).toEqual([
      400,
      errorBody(400, 'validation_failed', 'Invalid phone number format (E.164 required)'),
    ])
  })
})

describe('POST /signup by phone under settings', () => {
  it('500: fails without a gateway, except for a test phone', async () => {
    const open = await openMailApp({
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_PROVIDER: '',
      AUTH_SMS_TEST_OTP: '15005550006:123456',
    })
    const answer = await open.post('/signup', { phone: '14155550100', password })
    expect(statusAndBody(answer)).toEqual([
      500,
      errorBody(500, 'unexpected_failure', 'Unable to get SMS provider', { error_id: answer.headers['x-request-id'] }),
    ])
    expectUser(
      await open.post('/signup', { phone: '15005550006', password }),
      phoneBody('15005550006', {
        phone_confirmed_at: undefined,
        confirmed_at: undefined,
        identities: [phoneIdentity(anyId, '15005550006')],
      }),
    )
    await open.close()
  })

  it('200: signs in at once with SMS_AUTOCONFIRM and no gateway, but no duplicate', async () => {
    const open = await openMailApp({
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_AUTOCONFIRM: 'true',
      AUTH_SMS_PROVIDER: '',
      // No SMS is sent, so the limit does not apply.
      AUTH_RATE_LIMIT_SMS_SENT: '0',
    })
    const answer = await open.post('/signup', { phone: '+1 415 555 0100', password, data: { email: 'x@example.com' } })
    const user = userBody({
      phone: '14155550100',
      phone_confirmed_at: anyTime,
      confirmed_at: anyTime,
      app_metadata: { provider: 'phone', providers: ['phone'] },
      user_metadata: { email: 'x@example.com' },
      identities: [phoneIdentity(anyId, '14155550100', { phone_verified: true })],
    })
    expect(statusAndBody(answer)).toEqual([200, { ...sessionBody(user), ...user, last_sign_in_at: anyTime }])
    expect(statusAndBody(await open.post('/signup', { phone: '14155550100', password }))).toEqual([
      400,
      errorBody(400, 'user_already_exists', 'User already registered'),
    ])
    await open.close()
  })

  it('429: stores nothing when no SMS is left, and counts a dropped duplicate like a new signup', async () => {
    const open = await openMailApp({
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_RATE_LIMIT_SMS_SENT: '6',
      AUTH_TRUSTED_PROXIES: '1',
    })
    const signUpWith = (phone: string) =>
      open.post('/signup', { phone, password }, { 'x-forwarded-for': '203.0.113.1' })
    for (const phone of ['14155550100', '14155550100', '14155550101']) {
      const user = userBody({
        phone,
        confirmation_sent_at: anyTime,
        app_metadata: { provider: 'phone', providers: ['phone'] },
        identities: [phoneIdentity(anyId, phone)],
      })
      expect(statusAndBody(await signUpWith(phone))).toEqual([200, user])
    }
    expect(statusAndBody(await signUpWith('14155550102'))).toEqual([
      429,
      errorBody(429, 'over_sms_send_rate_limit', 'SMS rate limit exceeded'),
    ])
    const users = await open.deps.db.selectFrom('users').select('phone').orderBy('phone').execute()
    expect(users).toEqual([{ phone: '14155550100' }, { phone: '14155550101' }])
    await open.close()
  })
})
