import { createHash } from 'node:crypto'
import { AuthApiError, AuthSessionMissingError, AuthWeakPasswordError } from '@supabase/auth-js'
import { afterAll, describe, expect, it } from 'vitest'
import { totpCode } from '../authenticator-app.ts'
import { anyTime, emailIdentity, errorBody, userBody } from '../bodies.ts'
import { type OpenIdServer, startOpenIdServer } from '../external/openid-server.ts'
import { type ClientService, dataOf, newCredentials, openClientService } from './client-service.ts'

const redirectTo = 'https://app.example.com/after'
const openId: OpenIdServer = await startOpenIdServer()
const service: ClientService = await openClientService(
  {
    AUTH_PROFILE: 'strict',
    AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
    AUTH_URI_ALLOW_LIST: redirectTo,
    // Another test covers the page of a link.
    AUTH_MAILER_LINK_MODE: 'direct',
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_EXTERNAL_KEYCLOAK_ENABLED: 'true',
    AUTH_EXTERNAL_KEYCLOAK_CLIENT_ID: 'realm-client',
    AUTH_EXTERNAL_KEYCLOAK_SECRET: 'secret',
    AUTH_EXTERNAL_KEYCLOAK_REDIRECT_URI: 'http://localhost:8081/callback',
    AUTH_EXTERNAL_KEYCLOAK_URL: openId.realm,
  },
  openId.replace,
)
afterAll(async () => {
  await service.close()
  await openId.stop()
})

const codeIn = (address: URL): string => address.searchParams.get('code') ?? ''
const newProfile = () => ({
  sub: newCredentials().email,
  email: newCredentials().email,
  email_verified: true,
  name: 'Ada',
})

/** Signs in a new user by password on a new device. */
async function signIn() {
  const credentials = { ...newCredentials(), password: 'a staple of batteries' }
  await service.admin.createUser({ email: credentials.email, password: credentials.password, email_confirm: true })
  const client = service.newClient({ flowType: 'pkce' })
  dataOf(await client.signInWithPassword({ email: credentials.email, password: credentials.password }))
  return { ...credentials, client }
}

/** Follows the URL of a sign-in like a browser, and returns the last URL. */
async function follow(url: string | null | undefined): Promise<URL> {
  const authorize = url?.includes('/authorize?') ? await service.open(url) : new URL(url ?? '')
  const landed = await service.open(await openId.agree(authorize))
  expect([landed.origin + landed.pathname, landed.hash]).toEqual([redirectTo, ''])
  return landed
}

describe('a client with PKCE, in the strict profile', () => {
  it('signs up by a code, sets a password, and signs out and in again', async () => {
    const { email, password } = newCredentials()
    const client = service.newClient({ flowType: 'pkce' })
    dataOf(await client.signUp({ email, password }))
    const { code } = await service.readMail(email)
    dataOf(await client.verifyOtp({ email, token: code, type: 'email' }))
    // The password of the sign-up is invalid, because a stranger may have chosen it.
    const early = await service.newClient().signInWithPassword({ email, password })
    expect(early.error).toEqual(new AuthApiError('Invalid login credentials', 400, 'invalid_credentials'))
    dataOf(await client.updateUser({ password }))
    const { session } = dataOf(await client.signInWithPassword({ email, password }))
    expect((await client.signOut()).error).toBeNull()
    const { error } = await service.newClient().getUser(session?.access_token)
    expect(error).toEqual(new AuthSessionMissingError())
    expect(dataOf(await client.signInWithPassword({ email, password })).user?.email).toBe(email)
  })

  it('signs in by the link of a mail, which ends with a code at a listed address', async () => {
    const { email } = newCredentials()
    const client = service.newClient({ flowType: 'pkce' })
    dataOf(await client.signInWithOtp({ email, options: { emailRedirectTo: redirectTo } }))
    const landed = await service.open((await service.readMail(email)).link)
    expect([landed.origin + landed.pathname, landed.hash]).toEqual([redirectTo, ''])
    const { user } = dataOf(await client.exchangeCodeForSession(landed.searchParams.get('code') ?? ''))
    expect(user?.email).toBe(email)
  })

  it('names what a weak password lacks, and sets a new one after a recovery without the old one', async () => {
    const { email, password } = newCredentials()
    await service.admin.createUser({ email, password, email_confirm: true })
    const client = service.newClient({ flowType: 'pkce' })
    dataOf(await client.resetPasswordForEmail(email, { redirectTo }))
    const landed = await service.open((await service.readMail(email)).link)
    dataOf(await client.exchangeCodeForSession(landed.searchParams.get('code') ?? ''))
    const { error } = await client.updateUser({ password: 'passwordpassword' })
    expect(error).toEqual(
      new AuthWeakPasswordError('Password is known to be weak and easy to guess, please choose a different one.', 422, [
        'pwned',
      ]),
    )
    dataOf(await client.updateUser({ password: 'a staple of batteries' }))
    expect(dataOf(await client.signInWithPassword({ email, password: 'a staple of batteries' })).user?.email).toBe(
      email,
    )
  })
})

describe('other flows of a client, in the strict profile', () => {
  it('signs in at a provider only with PKCE', async () => {
    openId.account = newProfile()
    const client = service.newClient({ flowType: 'pkce' })
    const { url } = dataOf(await client.signInWithOAuth({ provider: 'keycloak', options: { redirectTo } }))
    const { user } = dataOf(await client.exchangeCodeForSession(codeIn(await follow(url))))
    expect(user?.email).toBe(openId.account.email)
    const implicit = dataOf(
      await service.newClient().signInWithOAuth({ provider: 'keycloak', options: { redirectTo } }),
    )
    const refused = await fetch(implicit.url, { redirect: 'manual' })
    expect([refused.status, await refused.json()]).toEqual([
      400,
      errorBody(400, 'validation_failed', 'Only PKCE flows are taken: send code_challenge and code_challenge_method'),
    ])
  })

  it('links and unlinks an identity', async () => {
    const { client, email } = await signIn()
    openId.account = newProfile()
    const { url } = dataOf(await client.linkIdentity({ provider: 'keycloak', options: { redirectTo } }))
    const { user } = dataOf(await client.exchangeCodeForSession(codeIn(await follow(url))))
    expect(user?.email).toBe(email)
    const { identities } = dataOf(await client.getUserIdentities())
    expect(identities.map(({ provider }) => provider)).toEqual(['email', 'keycloak'])
    const linked = identities[1] ?? expect.fail('nothing was linked')
    dataOf(await client.unlinkIdentity(linked))
    expect(dataOf(await client.getUserIdentities()).identities).toHaveLength(1)
  })

  it('signs in only by an id_token with a nonce', async () => {
    const profile = { ...newProfile(), aud: 'realm-client' }
    const nonce = 'a nonce of the app'
    const token = await openId.sign({ ...profile, nonce: createHash('sha256').update(nonce).digest('hex') })
    const client = service.newClient()
    expect(dataOf(await client.signInWithIdToken({ provider: 'keycloak', token, nonce })).user?.email).toBe(
      profile.email,
    )
    const without = await client.signInWithIdToken({ provider: 'keycloak', token: await openId.sign(profile) })
    expect(without.error).toEqual(
      new AuthApiError(
        'Only id_tokens with a nonce are taken: send the one that it was asked for with',
        400,
        'validation_failed',
      ),
    )
  })

  it('adds a second factor, verifies it, and changes the password with it', async () => {
    const { client, email, password } = await signIn()
    const { id, totp } = dataOf(await client.mfa.enroll({ factorType: 'totp' }))
    const code = (stepsFromNow: number) => totpCode(totp.secret, new Date(), stepsFromNow)
    dataOf(await client.mfa.challengeAndVerify({ factorId: id, code: code(0) }))
    const other = service.newClient({ flowType: 'pkce' })
    dataOf(await other.signInWithPassword({ email, password }))
    const change = { password: 'the staple of a battery', current_password: password }
    expect((await other.updateUser(change)).error).toEqual(
      new AuthApiError(
        'AAL2 session is required to update email or password when MFA is enabled.',
        401,
        'insufficient_aal',
      ),
    )
    dataOf(await other.mfa.challengeAndVerify({ factorId: id, code: code(1) }))
    expect((await other.updateUser({ password: change.password })).error).toEqual(
      new AuthApiError('Current password required when setting new password.', 400, 'current_password_required'),
    )
    dataOf(await other.updateUser(change))
    dataOf(await other.mfa.unenroll({ factorId: id }))
    dataOf(await service.newClient().signInWithPassword({ email, password: change.password }))
  })

  it('changes the email by the links of both addresses', async () => {
    const { client, email } = await signIn()
    const { email: next } = newCredentials()
    dataOf(await client.updateUser({ email: next }, { emailRedirectTo: redirectTo }))
    const first = await service.open((await service.readMail(email)).link)
    expect(first.searchParams.get('message')).toMatch(/^Confirmation link accepted/)
    const second = await service.open((await service.readMail(next)).link)
    expect(second.hash).toBe('')
    expect(dataOf(await client.exchangeCodeForSession(codeIn(second))).user?.email).toBe(next)
  })

  it('refreshes one token after the other, and a replayed token ends the session', async () => {
    const { client } = await signIn()
    const refresh = (refresh_token: string) => service.newClient().refreshSession({ refresh_token })
    const first = dataOf(await client.getSession()).session?.refresh_token ?? ''
    const second = dataOf(await refresh(first)).session?.refresh_token ?? ''
    const third = dataOf(await refresh(second)).session?.refresh_token ?? ''
    const replayed = new AuthApiError('Invalid Refresh Token: Already Used', 400, 'refresh_token_already_used')
    expect((await refresh(first)).error).toEqual(replayed)
    expect((await refresh(third)).error).toEqual(replayed)
  })

  it('makes an anonymous user permanent by the code of a mail', async () => {
    const client = service.newClient({ flowType: 'pkce' })
    const { user } = dataOf(await client.signInAnonymously())
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
        identities: [emailIdentity(user?.id, email, { email_verified: true })],
      }),
    )
    dataOf(await client.updateUser({ password: 'a staple of batteries' }))
    dataOf(await service.newClient().signInWithPassword({ email, password: 'a staple of batteries' }))
  })

  it('accepts an invitation by its code, and signs in by SMS', async () => {
    const { email, phone } = newCredentials()
    dataOf(await service.admin.inviteUserByEmail(email))
    const client = service.newClient({ flowType: 'pkce' })
    const { code } = await service.readMail(email)
    expect(dataOf(await client.verifyOtp({ email, token: code, type: 'invite' })).user?.email).toBe(email)
    dataOf(await client.updateUser({ password: 'a staple of batteries' }))
    const other = service.newClient({ flowType: 'pkce' })
    dataOf(await other.signInWithOtp({ phone }))
    const sms = await service.sms.read(phone)
    expect(dataOf(await other.verifyOtp({ phone, token: sms.code, type: 'sms' })).user?.phone).toBe(phone)
  })

  it("verifies the token hash of a link that leads to the app's own page", async () => {
    const { email } = newCredentials()
    const client = service.newClient({ flowType: 'pkce' })
    dataOf(await client.signInWithOtp({ email, options: { emailRedirectTo: redirectTo } }))
    const { token } = await service.readMail(email)
    expect(dataOf(await client.verifyOtp({ token_hash: token, type: 'email' })).user?.email).toBe(email)
  })
})
