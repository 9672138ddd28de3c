import { AuthApiError } from '@supabase/auth-js'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { totpCode } from '../authenticator-app.ts'
import { amrEntry, anyTime, factorBody } from '../bodies.ts'
import { type ClientService, dataOf, newCredentials, openClientService } from './client-service.ts'
import { pretendToBeBrowser } from './software-browser.ts'

let service: ClientService
beforeAll(async () => {
  service = await openClientService({
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_MFA_WEBAUTHN_ENROLL_ENABLED: 'true',
    AUTH_MFA_WEBAUTHN_VERIFY_ENABLED: 'true',
    AUTH_PASSKEY_ENABLED: 'true',
    AUTH_WEBAUTHN_RP_ID: 'app.example.com',
    AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
    AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com',
  })
  pretendToBeBrowser('https://app.example.com')
})
afterAll(async () => {
  vi.unstubAllGlobals()
  await service.close()
})

async function signUp() {
  const client = service.newClient()
  const { email, password } = newCredentials()
  const { user } = dataOf(await client.signUp({ email, password }))
  return { client, email, password, userId: user?.id ?? '' }
}

const levelOf = async (client: ReturnType<ClientService['newClient']>) =>
  dataOf(await client.mfa.getAuthenticatorAssuranceLevel()).currentLevel

describe('mfa.webauthn', () => {
  it('registers a key and needs it again at the next sign-in', async () => {
    const { client, email, password } = await signUp()
    const registered = dataOf(await client.mfa.webauthn.register({ friendlyName: 'key' }))
    expect(registered?.user.factors).toEqual([
      factorBody({ friendly_name: 'key', factor_type: 'webauthn', last_challenged_at: anyTime }),
    ])
    expect(await levelOf(client)).toBe('aal2')
    const other = service.newClient()
    dataOf(await other.signInWithPassword({ email, password }))
    const [factor] = dataOf(await other.mfa.listFactors()).webauthn
    dataOf(await other.mfa.webauthn.authenticate({ factorId: factor?.id ?? '' }))
    expect(await levelOf(other)).toBe('aal2')
    const { currentAuthenticationMethods } = dataOf(await other.mfa.getAuthenticatorAssuranceLevel())
    expect(currentAuthenticationMethods).toEqual([amrEntry('mfa/webauthn'), amrEntry('password')])
    expect(dataOf(await other.mfa.unenroll({ factorId: factor?.id ?? '' }))).toEqual({ id: factor?.id })
  })
})

describe('passkeys', () => {
  it('are registered, listed, renamed, used and deleted', async () => {
    const { client, userId } = await signUp()
    const registered = dataOf(await client.registerPasskey())
    expect(dataOf(await client.passkey.list())).toEqual([
      { id: registered.id, friendly_name: 'Passkey', created_at: registered.created_at },
    ])
    const visitor = service.newClient()
    const signedIn = dataOf(await visitor.signInWithPasskey())
    expect(signedIn.user?.id).toBe(userId)
    expect(dataOf(await visitor.getUser()).user.id).toBe(userId)
    const renamed = dataOf(await client.passkey.update({ passkeyId: registered.id, friendlyName: 'Laptop' }))
    expect(renamed).toEqual({
      id: registered.id,
      friendly_name: 'Laptop',
      created_at: anyTime,
      last_used_at: expect.any(String),
    })
    expect((await client.passkey.delete({ passkeyId: registered.id })).error).toBeNull()
    expect((await visitor.signInWithPasskey()).error).toEqual(
      new AuthApiError('WebAuthn response could not be verified', 400, 'webauthn_verification_failed'),
    )
  })

  it('are listed and deleted by admins', async () => {
    const { client, userId } = await signUp()
    const { id } = dataOf(await client.registerPasskey())
    expect(dataOf(await service.admin.passkey.listPasskeys({ userId }))).toEqual([
      { id, friendly_name: 'Passkey', created_at: anyTime },
    ])
    expect((await service.admin.passkey.deletePasskey({ userId, passkeyId: id })).error).toBeNull()
    expect(dataOf(await client.passkey.list())).toEqual([])
  })

  it('need the second factor before they are changed', async () => {
    const { client, email, password } = await signUp()
    const { id, totp } = dataOf(await client.mfa.enroll({ factorType: 'totp' }))
    dataOf(await client.mfa.challengeAndVerify({ factorId: id, code: totpCode(totp.secret, new Date()) }))
    const other = service.newClient()
    dataOf(await other.signInWithPassword({ email, password }))
    expect((await other.registerPasskey()).error).toEqual(
      new AuthApiError('AAL2 session is required to manage passkeys when MFA is enabled', 403, 'insufficient_aal'),
    )
    dataOf(await client.registerPasskey())
  })
})
