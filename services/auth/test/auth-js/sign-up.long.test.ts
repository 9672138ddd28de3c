import { AuthApiError, AuthWeakPasswordError } from '@supabase/auth-js'
import { afterAll, describe, expect, it } from 'vitest'
import { anyId, anyTime, emailIdentity, sessionBody, userBody } from '../bodies.ts'
import { dataOf, newCredentials, openClientService } from './client-service.ts'

const service = await openClientService()
const autoconfirm = await openClientService({ AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_SMS_AUTOCONFIRM: 'true' })
afterAll(() => Promise.all([service.close(), autoconfirm.close()]))

describe('signUp', () => {
  it('returns the user by email, and a session once the code is verified', async () => {
    const client = service.newClient()
    const { email, password } = newCredentials()
    const options = { data: { name: 'Ada' }, emailRedirectTo: 'https://app.example.com/welcome' }
    const { user, session } = dataOf(await client.signUp({ email, password, options }))
    expect(session).toBeNull()
    expect(user).toEqual(
      userBody({
        email,
        confirmation_sent_at: anyTime,
        user_metadata: { name: 'Ada' },
        identities: [emailIdentity(anyId, email, { name: 'Ada' })],
      }),
    )
    const { code } = await service.readMail(email)
    const verified = dataOf(await client.verifyOtp({ email, token: code, type: 'signup' }))
    expect(verified.user).toEqual(
      userBody({
        id: user?.id,
        email,
        email_confirmed_at: expect.any(String),
        confirmation_sent_at: anyTime,
        confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { name: 'Ada' },
        identities: [emailIdentity(user?.id, email, { name: 'Ada', email_verified: true })],
      }),
    )
    expect(dataOf(await client.getSession()).session?.access_token).toBe(verified.session?.access_token)
  })

  it('sends a link that leads back with a session', async () => {
    const client = service.newClient()
    const { email, password } = newCredentials()
    await client.signUp({ email, password, options: { emailRedirectTo: 'https://app.example.com/welcome' } })
    const target = await service.open((await service.readMail(email)).link)
    expect(target.origin + target.pathname).toBe('https://app.example.com/welcome')
    const fragment = new URLSearchParams(target.hash.slice(1))
    const { user } = dataOf(
      await client.setSession({
        access_token: fragment.get('access_token') ?? '',
        refresh_token: fragment.get('refresh_token') ?? '',
      }),
    )
    expect(user?.email).toBe(email)
  })

  it('returns a session at once when emails need no confirmation', async () => {
    const client = autoconfirm.newClient()
    const { email, password } = newCredentials()
    const { user, session } = dataOf(await client.signUp({ email, password }))
    const record = userBody({
      id: user?.id,
      email,
      email_confirmed_at: anyTime,
      confirmed_at: anyTime,
      identities: [emailIdentity(user?.id, email, { email_verified: true })],
    })
    expect(session).toEqual({ ...sessionBody(record), ...record, last_sign_in_at: anyTime })
    const again = await client.signUp({ email, password })
    expect(again.error).toEqual(new AuthApiError('User already registered', 400, 'user_already_exists'))
  })

  it('returns the same answer for a confirmed address as for a new one', async () => {
    const { email, password } = newCredentials()
    const { user } = dataOf(await service.newClient().signUp({ email, password }))
    const { code } = await service.readMail(email)
    await service.newClient().verifyOtp({ email, token: code, type: 'email' })
    const again = dataOf(await service.newClient().signUp({ email, password: 'another password' }))
    expect(again.session).toBeNull()
    expect(again.user?.id).not.toBe(user?.id)
    expect(Object.keys(again.user ?? {})).toEqual(Object.keys(user ?? {}))
  })

  it('returns the reasons why a password is weak', async () => {
    const { error } = await service.newClient().signUp({ email: newCredentials().email, password: 'x' })
    expect(error).toEqual(new AuthWeakPasswordError('Password should be at least 6 characters.', 422, ['length']))
  })

  it('returns a session by phone once the code is verified', async () => {
    const client = service.newClient()
    const { phone, password } = newCredentials()
    const { user, session } = dataOf(await client.signUp({ phone: `+${phone}`, password }))
    expect([user?.phone, session]).toEqual([phone, null])
    const { code } = await service.sms.read(phone)
    const verified = dataOf(await client.verifyOtp({ phone, token: code, type: 'sms' }))
    expect(verified.user?.phone_confirmed_at).toEqual(expect.any(String))
    expect(verified.session).not.toBeNull()
  })

  it('returns a session at once when phones need no confirmation', async () => {
    const { phone, password } = newCredentials()
    expect(dataOf(await autoconfirm.newClient().signUp({ phone, password })).session).not.toBeNull()
  })
})

describe('signInAnonymously', () => {
  it('returns a session of an anonymous user, who can become permanent', async () => {
    const client = service.newClient()
    const { user, session } = dataOf(await client.signInAnonymously({ options: { data: { theme: 'dark' } } }))
    expect(user).toEqual(
      userBody({
        id: session?.user.id,
        last_sign_in_at: anyTime,
        app_metadata: {},
        user_metadata: { theme: 'dark' },
        is_anonymous: true,
      }),
    )
    expect(session?.expires_in).toBe(3600)
    const { email } = newCredentials()
    dataOf(await client.updateUser({ email }))
    const { code } = await service.readMail(email)
    const verified = dataOf(await client.verifyOtp({ email, token: code, type: 'email_change' }))
    expect(verified.user).toEqual(
      userBody({
        id: user?.id,
        email,
        email_confirmed_at: anyTime,
        confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { theme: 'dark' },
        identities: [emailIdentity(user?.id, email, { email_verified: true })],
      }),
    )
  })
})

describe('resend', () => {
  it('sends the confirmation of an email again', async () => {
    const client = service.newClient()
    const { email, password } = newCredentials()
    await client.signUp({ email, password })
    const first = await service.readMail(email)
    dataOf(await client.resend({ type: 'signup', email }))
    const second = await service.readMail(email)
    expect((await client.verifyOtp({ email, token: first.code, type: 'signup' })).error).toEqual(
      new AuthApiError('Token has expired or is invalid', 403, 'otp_expired'),
    )
    expect(dataOf(await client.verifyOtp({ email, token: second.code, type: 'signup' })).session).not.toBeNull()
  })

  it('sends the code of a phone again and returns the id of the message', async () => {
    const client = service.newClient()
    const { phone, password } = newCredentials()
    await client.signUp({ phone, password })
    await service.sms.read(phone)
    const { messageId } = dataOf(await client.resend({ type: 'sms', phone }))
    expect(messageId).toMatch(/^[0-9a-f-]{36}$/)
    const { code } = await service.sms.read(phone)
    expect(dataOf(await client.verifyOtp({ phone, token: code, type: 'sms' })).session).not.toBeNull()
  })
})
