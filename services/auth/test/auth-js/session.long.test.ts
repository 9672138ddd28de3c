import { AuthApiError, AuthSessionMissingError } from '@supabase/auth-js'
import { afterAll, describe, expect, it } from 'vitest'
import { generateSigningKey } from '../../src/access-tokens/signing-key.ts'
import { amrEntry, anyId, anyTime, claimsBody, emailIdentity, factorBody, phoneIdentity, userBody } from '../bodies.ts'
import { factorRow } from '../factor-row.ts'
import { type ClientService, dataOf, newCredentials, openClientService } from './client-service.ts'

const key = { ...(await generateSigningKey('ES256', 'es')), key_ops: ['sign', 'verify'] }
const service = await openClientService({
  AUTH_JWT_KEYS: JSON.stringify([key]),
  AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
})
const bySecret = await openClientService()
afterAll(() => Promise.all([service.close(), bySecret.close()]))

/** Signs in a new user on a new device. */
async function signIn(on: ClientService = service) {
  const credentials = newCredentials()
  dataOf(await on.admin.createUser({ ...credentials, email_confirm: true, phone_confirm: true }))
  const client = on.newClient()
  const { session, user } = dataOf(
    await client.signInWithPassword({ email: credentials.email, password: credentials.password }),
  )
  return { ...credentials, client, session, user }
}

/** Signs in the same user on another device. */
async function signInAgain({ email, password }: { readonly email: string; readonly password: string }) {
  const client = service.newClient()
  dataOf(await client.signInWithPassword({ email, password }))
  return client
}

describe('getUser and getClaims', () => {
  it('return the user of the session and of any token', async () => {
    const { client, session, user } = await signIn()
    expect(dataOf(await client.getUser()).user).toEqual(user)
    expect(dataOf(await service.newClient().getUser(session.access_token)).user?.id).toBe(user.id)
    const { error } = await service.newClient().getUser('x.y.z')
    expect(error).toEqual(
      new AuthApiError(
        'invalid JWT: unable to parse or verify signature, token is malformed: could not parse its header',
        403,
        'bad_jwt',
      ),
    )
  })

  it('verify a token with the public key, or by the service when a secret has signed it', async () => {
    const { client, user } = await signIn()
    const claims = dataOf(await client.getClaims())
    expect([claims?.claims, claims?.header]).toEqual([
      claimsBody({
        sub: user.id,
        email: user.email,
        phone: user.phone,
        app_metadata: { provider: 'email', providers: ['email', 'phone'] },
        amr: [amrEntry('password')],
      }),
      { alg: 'ES256', typ: 'JWT', kid: 'es' },
    ])
    const other = await signIn(bySecret)
    const bySharedSecret = dataOf(await other.client.getClaims())
    expect([bySharedSecret?.claims.sub, bySharedSecret?.header.alg]).toEqual([other.user.id, 'HS256'])
    const forged = `${other.session.access_token.slice(0, -4)}AAAA`
    expect((await other.client.getClaims(forged)).error).toEqual(
      new AuthApiError(
        'invalid JWT: unable to parse or verify signature, token signature is invalid: signature is invalid',
        403,
        'bad_jwt',
      ),
    )
  })
})

describe('refreshSession and setSession', () => {
  it('return a new session of the same user', async () => {
    const { client, session, user } = await signIn()
    const refreshed = dataOf(await client.refreshSession())
    expect(refreshed.user?.id).toBe(user.id)
    expect(refreshed.session?.refresh_token).not.toBe(session.refresh_token)
    const other = service.newClient()
    dataOf(await other.setSession(refreshed.session ?? expect.fail('no session')))
    expect(dataOf(await other.getUser()).user?.id).toBe(user.id)
  })

  it('return the same refresh token when called twice at once', async () => {
    const { session } = await signIn()
    const refresh = () => service.newClient().refreshSession({ refresh_token: session.refresh_token })
    const [one, two] = await Promise.all([refresh(), refresh()])
    expect(dataOf(one).session?.refresh_token).toBe(dataOf(two).session?.refresh_token)
  })

  it('refuse a token that was revoked as stolen', async () => {
    const { session } = await signIn()
    const refresh = (refresh_token: string) => service.newClient().refreshSession({ refresh_token })
    const child = dataOf(await refresh(session.refresh_token)).session?.refresh_token ?? ''
    dataOf(await refresh(child))
    expect((await refresh(session.refresh_token)).error).toEqual(
      new AuthApiError('Invalid Refresh Token: Already Used', 400, 'refresh_token_already_used'),
    )
  })
})

describe('updateUser', () => {
  it('changes metadata and notifies the client', async () => {
    const { client } = await signIn()
    const events: string[] = []
    client.onAuthStateChange((event) => {
      events.push(event)
    })
    const { user } = dataOf(await client.updateUser({ data: { name: 'Ada', plan: null } }))
    expect(user.user_metadata).toEqual({ name: 'Ada' })
    expect(events).toContain('USER_UPDATED')
  })

  it('changes the email after both addresses confirm it by code', async () => {
    const { client, email } = await signIn()
    const { email: next } = newCredentials()
    const { user } = dataOf(await client.updateUser({ email: next }))
    expect(user).toEqual(
      userBody({
        email,
        email_confirmed_at: anyTime,
        phone: expect.any(String),
        phone_confirmed_at: anyTime,
        confirmed_at: anyTime,
        new_email: next,
        email_change_sent_at: expect.any(String),
        last_sign_in_at: anyTime,
        app_metadata: { provider: 'email', providers: ['email', 'phone'] },
        identities: [
          emailIdentity(anyId, email, { email_verified: true }),
          phoneIdentity(anyId, expect.any(String), { phone_verified: true }),
        ],
      }),
    )
    const [old, fresh] = [await service.readMail(email), await service.readMail(next)]
    const first = dataOf(await client.verifyOtp({ email, token: old.code, type: 'email_change' }))
    expect(first).toEqual({ user: null, session: null })
    const second = dataOf(await client.verifyOtp({ email: next, token: fresh.code, type: 'email_change' }))
    expect(second.user?.email).toBe(next)
    expect(second.session).not.toBeNull()
  })

  it('changes the email after both links are followed', async () => {
    const { client, email } = await signIn()
    const { email: next } = newCredentials()
    dataOf(await client.updateUser({ email: next }, { emailRedirectTo: 'https://app.example.com/changed' }))
    const first = await service.open((await service.readMail(email)).link)
    expect(new URLSearchParams(first.hash.slice(1)).get('message')).toMatch(/^Confirmation link accepted/)
    const second = await service.open((await service.readMail(next)).link)
    expect(new URLSearchParams(second.hash.slice(1)).get('type')).toBe('email_change')
    expect(dataOf(await client.getUser()).user?.email).toBe(next)
  })

  it('changes the phone after the new number confirms it', async () => {
    const { client } = await signIn()
    const { phone } = newCredentials()
    expect(dataOf(await client.updateUser({ phone })).user).toEqual(
      userBody({
        email: expect.any(String),
        email_confirmed_at: anyTime,
        phone: expect.any(String),
        phone_confirmed_at: anyTime,
        confirmed_at: anyTime,
        new_phone: phone,
        phone_change_sent_at: anyTime,
        last_sign_in_at: anyTime,
        app_metadata: { provider: 'email', providers: ['email', 'phone'] },
        identities: [
          emailIdentity(anyId, expect.any(String), { email_verified: true }),
          phoneIdentity(anyId, expect.any(String), { phone_verified: true }),
        ],
      }),
    )
    const { code } = await service.sms.read(phone)
    expect(dataOf(await client.verifyOtp({ phone, token: code, type: 'phone_change' })).user?.phone).toBe(phone)
  })

  it('sends the confirmation of a change again', async () => {
    const { client, email, phone } = await signIn()
    const { email: next, phone: nextPhone } = newCredentials()
    dataOf(await client.updateUser({ email: next }))
    await service.readMail(next)
    dataOf(await client.resend({ type: 'email_change', email }))
    expect((await service.readMail(next)).code).toMatch(/^\d{6}$/)
    dataOf(await client.updateUser({ phone: nextPhone }))
    await service.sms.read(nextPhone)
    dataOf(await client.resend({ type: 'phone_change', phone }))
    expect((await service.sms.read(nextPhone)).code).toMatch(/^\d{6}$/)
  })
})

describe('reauthenticate', () => {
  it('sends the nonce with which an old session may change the password', async () => {
    const { client, email, password, user } = await signIn()
    await service.deps.db
      .updateTable('sessions')
      .set({ created_at: new Date(Date.now() - 25 * 3_600_000) })
      .where('user_id', '=', user.id)
      .execute()
    const change = (nonce?: string) => client.updateUser({ password: `new ${password}`, ...(nonce ? { nonce } : {}) })
    expect((await change()).error).toEqual(
      new AuthApiError('Password update requires reauthentication', 400, 'reauthentication_needed'),
    )
    dataOf(await client.reauthenticate())
    const { code } = await service.readMail(email)
    const wrong = code === '000000' ? '000001' : '000000'
    expect((await change(wrong)).error).toEqual(
      new AuthApiError('Nonce has expired or is invalid', 422, 'reauthentication_not_valid'),
    )
    dataOf(await change(code))
    dataOf(await client.signInWithPassword({ email, password: `new ${password}` }))
  })
})

describe('signOut', () => {
  const isSignedIn = async (client: Awaited<ReturnType<typeof signInAgain>>) =>
    (await client.refreshSession()).error === null

  it.each([
    ['global', false, false],
    ['local', false, true],
    ['others', true, false],
  ] as const)('scope %s ends the sessions that it names', async (scope, here, there) => {
    const signedIn = await signIn()
    const other = await signInAgain(signedIn)
    expect(await signedIn.client.signOut({ scope })).toEqual({ error: null })
    expect([await isSignedIn(signedIn.client), await isSignedIn(other)]).toEqual([here, there])
  })

  it('reports no error for a session that has ended, nor for a deleted user', async () => {
    const { client, user } = await signIn()
    dataOf(await service.admin.deleteUser(user.id))
    expect(await client.signOut()).toEqual({ error: null })
    expect(await client.signOut()).toEqual({ error: null })
  })
})

describe('a session that has ended', () => {
  it('returns the user until the token expires, unless the setting enforces the end', async () => {
    const { client, session, user } = await signIn()
    dataOf(await service.admin.signOut(session.access_token))
    expect(dataOf(await client.getUser()).user?.id).toBe(user.id)
    expect((await client.updateUser({ data: {} })).error).toEqual(new AuthSessionMissingError())
    const strict = await openClientService({ AUTH_SESSIONS_ENFORCE_ON_ACCESS_TOKEN: 'true' })
    const other = await signIn(strict)
    dataOf(await strict.admin.signOut(other.session.access_token))
    expect((await other.client.getUser()).error).toEqual(new AuthSessionMissingError())
    await strict.close()
  })
})

describe('mfa.listFactors', () => {
  it('lists the factors of the user', async () => {
    const { client, user } = await signIn()
    expect(dataOf(await client.mfa.listFactors())).toEqual({
      all: [],
      phone: [],
      totp: [],
      webauthn: [],
      recovery_code: [],
    })
    const factor = { user_id: user.id, factor_type: 'totp', status: 'verified', friendly_name: 'app' }
    await service.deps.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
    expect(dataOf(await client.mfa.listFactors())).toEqual({
      all: [factorBody({ friendly_name: 'app' })],
      phone: [],
      totp: [factorBody({ friendly_name: 'app' })],
      webauthn: [],
      recovery_code: [],
    })
  })
})

describe('endpoints that are not built', () => {
  it('return an error code of their own', async () => {
    const { client } = await signIn()
    expect((await client.signInWithSSO({ domain: 'example.com' })).error).toEqual(
      new AuthApiError('SAML 2.0 is disabled', 404, 'saml_provider_disabled'),
    )
    const wallet = { chain: 'ethereum', message: 'sign in', signature: '0x00' } as const
    expect((await client.signInWithWeb3(wallet)).error).toEqual(
      new AuthApiError('Web3 provider is disabled', 422, 'web3_provider_disabled'),
    )
    const noOauth = new AuthApiError('OAuth server is disabled', 404, 'feature_disabled')
    expect((await client.oauth.listGrants()).error).toEqual(noOauth)
    expect((await service.admin.oauth.listClients()).error).toEqual(noOauth)
  })
})
