import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import {
  anyId,
  anyTime,
  emailIdentity,
  errorBody,
  outcomeOf,
  phoneBody,
  sessionBody,
  statusAndBody,
  userBody,
} from '../../test/bodies.ts'
import { expectSession } from '../../test/expect-user.ts'
import { openBeside, openMailApp } from '../../test/mail-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'

const main = await openMailApp({
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
})
const { clock, deps, sms } = main
const password = 'correct horse'
const MESSAGE_ID = {
  message_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
}

afterAll(() => main.close())

const resend = (body: object) => main.post('/resend', body)
const verify = (body: object) => main.post('/verify', body)
const timestamp = (date: Date) => date.toISOString().replace('Z', '000+00:00')

describe('POST /resend', () => {
  it('200: sends the confirmation of a signup again, with new secrets', async () => {
    const email = 'again@example.com'
    await main.post('/signup', { email, password, data: { name: 'Ada' } })
    const old = await main.readMail(email)
    clock.advance(900_000)
    const answer = await resend({ type: 'signup', email })
    expect([answer.statusCode, answer.json()]).toEqual([200, MESSAGE_ID])
    const { mail, link, token } = await main.readMail(email)
    expect([mail.subject, link.searchParams.get('type')]).toEqual(['Confirm your email address', 'signup'])
    expect(statusAndBody(await verify({ type: 'signup', token_hash: old.token }))).toEqual([
      403,
      errorBody(403, 'otp_expired', 'Email link is invalid or has expired'),
    ])
    const verified = await verify({ type: 'signup', token_hash: token })
    expect(verified.json()).toEqual(
      sessionBody(
        userBody({
          email,
          email_confirmed_at: anyTime,
          confirmation_sent_at: timestamp(clock.now()),
          confirmed_at: anyTime,
          user_metadata: { name: 'Ada' },
          identities: [emailIdentity(anyId, email, { name: 'Ada', email_verified: true })],
        }),
        { type: 'signup' },
      ),
    )
  })

  it('200: sends the code of a signup by phone again', async () => {
    const phone = '14155550100'
    await main.post('/signup', { phone, password })
    await sms.read(phone)
    clock.advance(60_000)
    expect((await resend({ type: 'sms', phone: `+${phone}` })).json()).toEqual(MESSAGE_ID)
    const { code } = await sms.read(phone)
    expectSession(await verify({ type: 'sms', phone, token: code }), phoneBody(phone))
  })

  it('200: sends the code of a pending sign-up again', async () => {
    const [email, phone] = ['staged@example.com', '14155550101']
    await main.post('/otp', { email, data: { name: 'Grace' } })
    await main.post('/otp', { phone })
    await Promise.all([main.readMail(email), sms.read(phone)])
    clock.advance(60_000)
    expect(statusAndBody(await resend({ type: 'signup', email }))).toEqual([200, { message_id: anyId }])
    expect(statusAndBody(await resend({ type: 'sms', phone }))).toEqual([200, { message_id: anyId }])
    const { token, link } = await main.readMail(email)
    expect(link.searchParams.get('type')).toBe('magiclink')
    expect((await verify({ type: 'magiclink', token_hash: token })).json()).toEqual(
      sessionBody(
        userBody({
          email,
          email_confirmed_at: anyTime,
          confirmed_at: anyTime,
          recovery_sent_at: anyTime,
          user_metadata: { name: 'Grace' },
          identities: [emailIdentity(anyId, email, { name: 'Grace', email_verified: true })],
        }),
        { type: 'magiclink' },
      ),
    )
    const { code } = await sms.read(phone)
    expectSession(await verify({ type: 'sms', phone, token: code }), phoneBody(phone))
  })

  it('200: gives the same answer when nothing is pending, and sends nothing', async () => {
    const { email } = await createSignedUp(deps, { phone: '14155550102', phone_confirmed_at: clock.now() })
    const bodies = [
      { type: 'signup', email: 'unknown@example.com' },
      { type: 'signup', email },
      { type: 'sms', phone: '14155550102' },
      { type: 'sms', phone: '14155550103' },
      { type: 'email_change', email },
      { type: 'email_change', phone: '14155550104' },
      { type: 'phone_change', email: 'unknown@example.com' },
      { type: 'phone_change', phone: '14155550105' },
    ]
    const ids = new Set()
    for (const body of bodies) {
      const answer = await resend(body)
      expect([answer.statusCode, answer.json()]).toEqual([200, MESSAGE_ID])
      ids.add(answer.json().message_id)
    }
    expect(ids.size).toBe(bodies.length)
    await main.idle()
    const [mails, messages] = [main.recipients().length, sms.messages.length]
    clock.advance(1_000)
    for (const body of bodies) {
      const medium = body.type === 'signup' || body.type === 'email_change' ? 'email' : 'sms'
      const code = `over_${medium}_send_rate_limit`
      const seconds = body.type === 'signup' ? 899 : 59
      const text = `For security purposes, you can only request this after ${seconds} seconds.`
      expect(statusAndBody(await resend(body))).toEqual([429, errorBody(429, code, text)])
    }
    await main.idle()
    expect([main.recipients().length, sms.messages.length]).toEqual([mails, messages])
  })

  it('429: counts the interval from the signup, for known and unknown addresses alike', async () => {
    await main.post('/signup', { email: 'known@example.com', password })
    clock.advance(1_000)
    expect(statusAndBody(await resend({ type: 'signup', email: 'known@example.com' }))).toEqual([
      429,
      errorBody(
        429,
        'over_email_send_rate_limit',
        'For security purposes, you can only request this after 899 seconds.',
      ),
    ])
    const { email } = await createSignedUp(deps)
    await main.post('/signup', { email, password })
    clock.advance(1_000)
    expect(statusAndBody(await resend({ type: 'signup', email }))).toEqual([
      429,
      errorBody(
        429,
        'over_email_send_rate_limit',
        'For security purposes, you can only request this after 899 seconds.',
      ),
    ])
  })

  const missing = 'Missing one of these types: signup, email_change, sms, phone_change'
  it.each([
    [{}, missing],
    [{ type: 'recovery', email: 'a@example.com' }, missing],
    [{ type: 'toString', email: 'a@example.com' }, missing],
    [{ type: 'signup', phone: '14155550100' }, 'Type provided requires an email address'],
    [{ type: 'sms', email: 'a@example.com' }, 'Type provided requires a phone number'],
    [
      { type: 'email_change', email: 'a@example.com', phone: '14155550100' },
      'Only an email address or phone number should be provided.',
    ],
    [{ type: 'phone_change' }, 'Missing email address or phone number'],
    [{ type: 'signup', email: 'nobody' }, 'Unable to validate email address: invalid format'],
    [{ type: 'sms', phone: '0415' }, 'Invalid phone number format (E.164 required)'],
  ])('400: refuses %j', async (body, message) => {
    expect(statusAndBody(await resend(body))).toEqual([400, errorBody(400, 'validation_failed', message)])
  })
})

describe('POST /resend under settings', () => {
  it('429: counts the mails to both addresses of a change of email, or none', async () => {
    const open = await openBeside(main, { AUTH_RATE_LIMIT_EMAIL_SENT: '2' })
    const resendChange = async (email: string) => {
      const answer = await open.post('/resend', { type: 'email_change', email })
      await open.idle()
      return outcomeOf(answer)
    }
    const signUp = async (email: string) => outcomeOf(await open.post('/signup', { email, password: 'correct horse' }))
    const limited = [429, errorBody(429, 'over_email_send_rate_limit', 'email rate limit exceeded')]
    expect(await signUp('a@example.com')).toBe(200)
    // An address change sends two mails. When the second mail is refused, the count of the first mail is undone.
    expect(await resendChange('b@example.com')).toEqual(limited)
    expect([await signUp('c@example.com'), await signUp('d@example.com')]).toEqual([200, limited])
    await open.close()
  })

  it('200: gives the same answer for an unknown number without a gateway', async () => {
    const open = await openBeside(main, { AUTH_EXTERNAL_PHONE_ENABLED: 'true', AUTH_SMS_PROVIDER: '' })
    for (const type of ['sms', 'phone_change']) {
      const answer = await open.post('/resend', { type, phone: `1415555${1_000 + type.length}` })
      expect([answer.statusCode, answer.json()]).toEqual([200, MESSAGE_ID])
    }
    await open.idle()
    await open.close()
  })

  it('200: accepts a test code as soon as the request is answered, also after a wrong code', async () => {
    const [phone, code] = ['14155550199', '123456']
    const open = await openTestApp({
      settings: { AUTH_EXTERNAL_PHONE_ENABLED: 'true', AUTH_SMS_TEST_OTP: `${phone}:${code}` },
    })
    // This process has no worker, so queued jobs are not carried out.
    const post = (url: string, payload: object) => open.app.inject({ method: 'POST', url, payload })
    await post('/otp', { phone })
    open.clock.advance(60_000)
    expect(statusAndBody(await post('/resend', { type: 'sms', phone }))).toEqual([200, { message_id: anyId }])
    expect(statusAndBody(await post('/verify', { type: 'sms', phone, token: '000000' }))).toEqual([
      403,
      errorBody(403, 'otp_expired', 'Token has expired or is invalid'),
    ])
    expectSession(await post('/verify', { type: 'sms', phone, token: code }), phoneBody(phone))
    await open.close()
  })

  it('400: refuses emails and phones while they are off', async () => {
    const open = await openBeside(main, { AUTH_EXTERNAL_EMAIL_ENABLED: 'false' })
    expect(statusAndBody(await open.post('/resend', { type: 'signup', email: 'a@example.com' }))).toEqual([
      400,
      errorBody(400, 'email_provider_disabled', 'Email logins are disabled'),
    ])
    expect(statusAndBody(await open.post('/resend', { type: 'sms', phone: '14155550100' }))).toEqual([
      400,
      errorBody(400, 'phone_provider_disabled', 'Phone logins are disabled'),
    ])
    await open.close()
  })
})
