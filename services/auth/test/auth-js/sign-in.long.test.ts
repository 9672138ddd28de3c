import { AuthApiError, AuthPKCECodeVerifierMissingError } from '@supabase/auth-js'
import { afterAll, describe, expect, it } from 'vitest'
import { anyId, anyTime, confirmedBody, emailIdentity, phoneIdentity, sessionBody, userBody } from '../bodies.ts'
import { type ClientService, dataOf, newCredentials, openClientService } from './client-service.ts'

const service = await openClientService()
afterAll(() => service.close())

/** A user who has signed up and confirmed. */
async function register(on: ClientService = service) {
  const credentials = newCredentials()
  const attributes = { ...credentials, email_confirm: true, phone_confirm: true }
  const { user } = dataOf(await on.admin.createUser(attributes))
  return { ...credentials, id: user?.id }
}

/** The record of a user from `register`. */
const registeredBody = ({ id, email, phone }: Omit<Awaited<ReturnType<typeof register>>, 'password'>) =>
  userBody({
    id,
    email,
    email_confirmed_at: anyTime,
    phone,
    phone_confirmed_at: anyTime,
    confirmed_at: anyTime,
    app_metadata: { provider: 'email', providers: ['email', 'phone'] },
    identities: [
      emailIdentity(id, email, { email_verified: true }),
      phoneIdentity(id, phone, { phone_verified: true }),
    ],
  })

describe('signInWithPassword', () => {
  it('signs in by email and by phone', async () => {
    const { email, phone, password, id } = await register()
    const client = service.newClient()
    const user = registeredBody({ id, email, phone })
    const byEmail = dataOf(await client.signInWithPassword({ email, password }))
    expect(byEmail).toEqual({ user: { ...user, last_sign_in_at: anyTime }, session: sessionBody(user) })
    expect(dataOf(await client.signInWithPassword({ phone, password })).user?.id).toBe(id)
  })

  it('returns the common error for a wrong password', async () => {
    const { email } = await register()
    const { data, error } = await service.newClient().signInWithPassword({ email, password: 'wrong' })
    expect(data).toEqual({ user: null, session: null })
    expect(error).toEqual(new AuthApiError('Invalid login credentials', 400, 'invalid_credentials'))
  })
})

describe('signInWithOtp', () => {
  it('signs in by email with the code', async () => {
    const { email, id } = await register()
    const client = service.newClient()
    expect(dataOf(await client.signInWithOtp({ email }))).toEqual({ user: null, session: null })
    const { code } = await service.readMail(email)
    expect(dataOf(await client.verifyOtp({ email, token: code, type: 'email' })).user?.id).toBe(id)
  })

  it('signs in by email with the link', async () => {
    const { email } = await register()
    await service.newClient().signInWithOtp({ email })
    const target = await service.open((await service.readMail(email)).link)
    expect(target.href).toMatch(/^http:\/\/localhost:3000\/#access_token=/)
    expect(new URLSearchParams(target.hash.slice(1)).get('type')).toBe('magiclink')
  })

  it('creates a user for a new email once the code is verified', async () => {
    const { email } = newCredentials()
    const client = service.newClient()
    dataOf(await client.signInWithOtp({ email, options: { data: { name: 'Ada' } } }))
    expect(dataOf(await service.admin.listUsers()).users.map((user) => user.email)).not.toContain(email)
    const { code } = await service.readMail(email)
    const { user } = dataOf(await client.verifyOtp({ email, token: code, type: 'email' }))
    expect(user).toEqual(
      userBody({
        email,
        email_confirmed_at: anyTime,
        confirmed_at: anyTime,
        recovery_sent_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { name: 'Ada' },
        identities: [emailIdentity(anyId, email, { name: 'Ada', email_verified: true })],
      }),
    )
  })

  it('refuses a new email when shouldCreateUser is false', async () => {
    const { error } = await service
      .newClient()
      .signInWithOtp({ email: newCredentials().email, options: { shouldCreateUser: false } })
    expect(error).toEqual(new AuthApiError('Signups not allowed for otp', 422, 'otp_disabled'))
  })

  it('signs in by a known and a new phone', async () => {
    for (const { phone } of [await register(), newCredentials()]) {
      const client = service.newClient()
      dataOf(await client.signInWithOtp({ phone: `+${phone}` }))
      const { code } = await service.sms.read(phone)
      const { user } = dataOf(await client.verifyOtp({ phone: `+${phone}`, token: code, type: 'sms' }))
      expect(user?.phone).toBe(phone)
    }
  })
})

describe('resetPasswordForEmail', () => {
  it('permits a new password after the code and after the token of the link', async () => {
    for (const verify of ['code', 'token'] as const) {
      const { email, password } = await register()
      const client = service.newClient()
      expect(dataOf(await client.resetPasswordForEmail(email))).toEqual({})
      const mail = await service.readMail(email)
      const params =
        verify === 'code'
          ? ({ email, token: mail.code, type: 'recovery' } as const)
          : ({ token_hash: mail.token, type: 'recovery' } as const)
      dataOf(await client.verifyOtp(params))
      dataOf(await client.updateUser({ password: `new ${password}` }))
      expect((await client.signInWithPassword({ email, password })).error).toEqual(
        new AuthApiError('Invalid login credentials', 400, 'invalid_credentials'),
      )
      dataOf(await client.signInWithPassword({ email, password: `new ${password}` }))
    }
  })

  it('returns the same answer for an unknown address', async () => {
    expect(await service.newClient().resetPasswordForEmail(newCredentials().email)).toEqual({ data: {}, error: null })
  })
})

describe('verifyOtp', () => {
  it('accepts the token of every kind of link', async () => {
    const signUp = newCredentials()
    await service.newClient().signUp(signUp)
    const magic = await register()
    await service.newClient().signInWithOtp({ email: magic.email })
    const invited = newCredentials()
    await service.admin.inviteUserByEmail(invited.email)
    for (const [email, type] of [
      [signUp.email, 'signup'],
      [magic.email, 'magiclink'],
      [invited.email, 'invite'],
    ] as const) {
      const { token } = await service.readMail(email)
      const verified = dataOf(await service.newClient().verifyOtp({ token_hash: token, type }))
      expect([type, verified.user?.email]).toEqual([type, email])
    }
  })

  it('refuses a wrong code and a used code', async () => {
    const { email } = await register()
    const client = service.newClient()
    await client.signInWithOtp({ email })
    const { code } = await service.readMail(email)
    const refused = new AuthApiError('Token has expired or is invalid', 403, 'otp_expired')
    const wrong = code === '000000' ? '000001' : '000000'
    expect((await client.verifyOtp({ email, token: wrong, type: 'email' })).error).toEqual(refused)
    dataOf(await client.verifyOtp({ email, token: code, type: 'email' }))
    expect((await client.verifyOtp({ email, token: code, type: 'email' })).error).toEqual(refused)
  })
})

describe('exchangeCodeForSession', () => {
  const newPkceClient = () => service.newClient({ flowType: 'pkce' })

  it.each([
    [
      'signUp',
      null,
      async (client: ReturnType<typeof newPkceClient>) => {
        const { email, password } = newCredentials()
        const { user } = dataOf(await client.signUp({ email, password }))
        return { email, user: confirmedBody(user?.id, email, { confirmation_sent_at: anyTime }) }
      },
    ],
    [
      'signInWithOtp',
      null,
      async (client: ReturnType<typeof newPkceClient>) => {
        const user = await register()
        dataOf(await client.signInWithOtp({ email: user.email }))
        return { email: user.email, user: { ...registeredBody(user), recovery_sent_at: anyTime } }
      },
    ],
    [
      'resetPasswordForEmail',
      'recovery',
      async (client: ReturnType<typeof newPkceClient>) => {
        const user = await register()
        dataOf(await client.resetPasswordForEmail(user.email, { redirectTo: 'https://app.example.com/reset' }))
        return { email: user.email, user: { ...registeredBody(user), recovery_sent_at: anyTime } }
      },
    ],
  ])('ends the flow of %s only in the client that began it', async (_name, redirectType, begin) => {
    const client = newPkceClient()
    const { email, user } = await begin(client)
    const target = await service.open((await service.readMail(email)).link)
    const code = target.searchParams.get('code') ?? ''
    expect([code, target.hash]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), ''])
    const stranger = newPkceClient()
    await stranger.resetPasswordForEmail(newCredentials().email)
    expect((await stranger.exchangeCodeForSession(code)).error).toEqual(
      new AuthApiError('code challenge does not match previously saved code verifier', 400, 'bad_code_verifier'),
    )
    expect(dataOf(await client.exchangeCodeForSession(code))).toEqual({
      user: { ...user, last_sign_in_at: anyTime },
      session: sessionBody(user),
      redirectType,
    })
    expect((await client.exchangeCodeForSession(code)).error).toEqual(new AuthPKCECodeVerifierMissingError())
  })
})
